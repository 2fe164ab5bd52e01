/** The menu that saves a conversation as JSON and plays one again. */

import { usePage } from "./context.js";
import { Icon } from "./icons.js";
import { Menu } from "./menu.js";
import { html } from "./vendor/preact.js";

export function DialogueMenu({ open, replay, connected }) {
  const { words, actions } = usePage();
  const choose = (event) => {
    const [file] = event.currentTarget.files;
    event.currentTarget.value = "";
    if (file) {
      actions.replay(file);
    }
  };
  return html`<${Menu} label=${words.dialogue} icon="chat">
    ${() => html`
      <div class="entries">
        <a class="entry" href=${`/sandbox/recording?chat=${encodeURIComponent(open)}`} download>
          <${Icon} name="download" />${words.save_this}
        </a>
        <a class="entry" href="/sandbox/recording" download><${Icon} name="download" />${words.save_all}</a>
        <label class=${`entry file-entry${connected ? "" : " disabled"}`}>
          <${Icon} name="recall" />
          <span>${words.replay}<small>${words.replay_says}</small></span>
          <input
            class="visually-hidden"
            type="file"
            accept="application/json,.json"
            aria-label=${words.replay}
            disabled=${!connected}
            onChange=${choose}
          />
        </label>
      </div>
      <${ReplayState} replay=${replay} />
      ${replay && !replay.running && html`<${Differences} differences=${replay.differences} />`}
    `}
  <//>`;
}

/** How far a replay is; nothing where there is none. */
export function ReplayState({ replay }) {
  const { words } = usePage();
  if (!replay) {
    return null;
  }
  return html`<p class="replay" role="status">
    <span>${replay.running ? words.replaying(replay.step, replay.of) : words.replay_done}</span>
    <progress max=${replay.of || 1} value=${replay.step} aria-label=${words.replay_progress}></progress>
  </p>`;
}

/** Which steps went another way than in the recording. */
function Differences({ differences }) {
  const { words } = usePage();
  if (differences.length === 0) {
    return html`<p class="hint">${words.replay_same}</p>`;
  }
  return html`<p class="hint">${words.replay_differs(differences.length)}</p>
    <ol class="differences">
      ${differences.map(
        ({ step, recorded, said, problem }) => html`<li key=${step}>
          <p><b>${words.replay_step(step)}</b> ${problem && (typeof words.errors[problem] === "string" ? words.errors[problem] : problem)}</p>
          ${!problem &&
          html`<dl class="pairs">
            <div><dt>${words.replay_then}</dt><dd>${recorded ?? words.replay_nothing}</dd></div>
            <div><dt>${words.replay_now}</dt><dd>${said ?? words.replay_nothing}</dd></div>
          </dl>`}
        </li>`,
      )}
    </ol>`;
}
