/** The menu that makes trouble: what goes wrong in real QQ, which client is played, and what happens once. */

import { usePage } from "./context.js";
import { Menu } from "./menu.js";
import { html } from "./vendor/preact.js";

export function TroubleMenu({ stage, bot, troubles, connected }) {
  const { words, actions } = usePage();
  return html`<${Menu} label=${words.trouble} icon="bolt" marked=${troubles.length > 0}>
    ${(close) => html`
      <p class="hint">${words.trouble_how}</p>
      <ul class="choices">
        ${stage.trouble_names.map(
          (name) => html`<li key=${name}>
            <label class="choice">
              <input
                type="checkbox"
                checked=${troubles.includes(name)}
                disabled=${!connected}
                onChange=${(event) => actions.trouble(name, event.currentTarget.checked)}
              />
              <span><b>${words.troubles[name] ?? name}</b><small>${words.trouble_says[name] ?? ""}</small></span>
            </label>
          </li>`,
        )}
      </ul>
      <fieldset class="radios">
        <legend>${words.dialect}<small>${words.dialect_how}</small></legend>
        ${stage.dialects.map(
          (name) => html`<label key=${name}>
            <input
              type="radio"
              name="dialect"
              value=${name}
              checked=${bot.dialect === name}
              disabled=${!connected}
              onChange=${() => actions.dialect(name)}
            />
            <span>${name}</span>
          </label>`,
        )}
      </fieldset>
      <div class="once">
        <${Once} name=${words.storm} says=${words.storm_says} connected=${connected} act=${() => (actions.storm(), close())} />
        <${Once} name=${words.cut} says=${words.cut_says} connected=${connected} act=${() => (actions.cut(), close())} />
      </div>
    `}
  <//>`;
}

function Once({ name, says, connected, act }) {
  return html`<button type="button" class="once-button" disabled=${!connected} onClick=${act}>
    <b>${name}</b><small>${says}</small>
  </button>`;
}
