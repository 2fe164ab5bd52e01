/** Who is in a group, with the role of each. */

import { usePage } from "./context.js";
import { Menu } from "./menu.js";
import { Avatar, Badge } from "./person.js";
import { html } from "./vendor/preact.js";

export function MemberMenu({ chat, speaker }) {
  const { words } = usePage();
  return html`<${Menu} label=${words.member_list} text=${words.members(chat.members.length)} icon="people">
    ${() => html`<ul class="member-list">
      ${chat.members.map(
        ({ id, name, role }) => html`<li key=${id}>
          <${Avatar} id=${id} name=${name} bot=${role === "bot"} />
          <span class="member-name">${name}${id === speaker && html`<small>${words.you}</small>`}</span>
          <${Badge} role=${role} />
        </li>`,
      )}
    </ul>`}
  <//>`;
}
