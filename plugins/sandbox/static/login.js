/** The login page in the saved language, with the hint after a wrong token. */

import { saved } from "./preferences.js";
import { LANGUAGES, wordsOf } from "./words.js";

const words = wordsOf(saved("language", "zh", Object.keys(LANGUAGES)));
for (const element of document.querySelectorAll("[data-word]")) {
  element.textContent = words[element.dataset.word];
}
document.title = words.login_title;
document.getElementById("wrong").hidden = !new URLSearchParams(location.search).has("wrong");
document.getElementById("token").focus();
