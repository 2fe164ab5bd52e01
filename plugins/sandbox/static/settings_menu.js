/** The menu of language and appearance. */

import { usePage } from "./context.js";
import { Menu } from "./menu.js";
import { html } from "./vendor/preact.js";
import { LANGUAGES } from "./words.js";

export const THEMES = ["auto", "light", "dark"];

export function SettingsMenu({ language, theme, setLanguage, setTheme }) {
  const { words } = usePage();
  return html`<${Menu} label=${words.settings} icon="settings">
    ${() => html`
      <${Choice} legend=${words.language} name="language" chosen=${language} choose=${setLanguage} options=${LANGUAGES} />
      <${Choice} legend=${words.theme} name="theme" chosen=${theme} choose=${setTheme}
        options=${Object.fromEntries(THEMES.map((name) => [name, words.themes[name]]))} />
      <p class="hint keys">${words.keys}</p>
    `}
  <//>`;
}

function Choice({ legend, name, chosen, choose, options }) {
  return html`<fieldset class="segments">
    <legend>${legend}</legend>
    <div class="segment-row">
      ${Object.entries(options).map(
        ([value, text]) => html`<label key=${value}>
          <input type="radio" name=${name} value=${value} checked=${chosen === value} onChange=${() => choose(value)} />
          <span>${text}</span>
        </label>`,
      )}
    </div>
  </fieldset>`;
}
