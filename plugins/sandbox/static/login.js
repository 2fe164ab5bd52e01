/** The login page in the saved language, with the hint after a wrong token or too many of them. */

import { saved } from "./preferences.js";
import { LANGUAGES, wordsOf } from "./words.js";

const words = wordsOf(saved("language", "zh", Object.keys(LANGUAGES)));
for (const element of document.querySelectorAll("[data-word]")) {
  element.textContent = words[element.dataset.word];
}
document.title = words.login_title;
const query = new URLSearchParams(location.search);
document.getElementById("wrong").hidden = !query.has("wrong");
const wait = document.getElementById("wait");
wait.hidden = !query.has("wait");
wait.textContent = wait.textContent.replace("{seconds}", Number.parseInt(query.get("wait"), 10) || 60);
document.getElementById("token").focus();
