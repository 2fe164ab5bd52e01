/** The operator's page: the documents and statistics of real groups, for who knows HTTP__TOKEN. */

import { PageContext, usePage } from "./context.js";
import { documentFacts, DocumentView, Pager } from "./document_view.js";
import { ask, createLibrary } from "./library.js";
import { Avatar } from "./person.js";
import { save, saved } from "./preferences.js";
import { SettingsMenu, THEMES } from "./settings_menu.js";
import { StatisticsView } from "./statistics_view.js";
import { html, render, useEffect, useMemo, useState } from "./vendor/preact.js";
import { LANGUAGES, wordsOf } from "./words.js";

const PREFIX = "/operator/api";
const VIEWS = ["documents", "statistics"];
const headersOf = (token) => ({ authorization: `Bearer ${token}` });

function Page() {
  const [language, setLanguage] = useState(saved("language", "zh", Object.keys(LANGUAGES)));
  const [theme, setTheme] = useState(saved("theme", "auto", THEMES));
  const words = useMemo(() => wordsOf(language), [language]);
  const page = useMemo(() => ({ words, actions: {} }), [words]);
  // It is kept nowhere, so that nobody finds it in the browser afterwards.
  const [entered, setEntered] = useState(null);

  useEffect(() => {
    document.documentElement.lang = words.tag;
    document.title = words.operator_title;
    save("language", language);
  }, [words]);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    save("theme", theme);
  }, [theme]);

  return html`<${PageContext.Provider} value=${page}>
    <header class="top">
      <h1><img src="/operator/static/icon.svg" alt="" width="26" height="26" />${words.product}<small>${words.operator_subtitle}</small></h1>
      <${SettingsMenu} language=${language} theme=${theme} setLanguage=${setLanguage} setTheme=${setTheme} />
    </header>
    ${entered ? html`<${Groups} ...${entered} />` : html`<${Login} enter=${setEntered} />`}
  <//>`;
}

function Login({ enter }) {
  const { words } = usePage();
  const [wrong, setWrong] = useState("");

  async function submit(event) {
    event.preventDefault();
    const token = new FormData(event.target).get("token");
    try {
      const { groups } = await ask(`${PREFIX}/groups`, {}, { headers: headersOf(token) });
      enter({ token, groups });
    } catch (error) {
      setWrong(error.code ?? "wrong_token");
    }
  }

  return html`<main class="login operator-login">
    <form class="login-card" onSubmit=${submit}>
      <h2>${words.operator_title}</h2>
      <p id="how">${words.operator_how}</p>
      <label for="token">${words.login_token}</label>
      <input id="token" name="token" type="password" autocomplete="off" required aria-describedby="how" />
      ${wrong && html`<p role="alert">${words.errors[wrong] ?? words.errors.unknown}</p>`}
      <button class="primary" type="submit">${words.login_enter}</button>
    </form>
  </main>`;
}

function Groups({ token, groups }) {
  const { words } = usePage();
  const [open, setOpen] = useState(groups[0]?.id ?? "");
  const [view, setView] = useState("documents");
  const group = groups.find(({ id }) => id === open);
  const name = ({ name, number }) => name || (number ? words.group_number(number) : words.shared);
  if (!group) {
    return html`<main class="loading"><p>${words.groups_none}</p></main>`;
  }
  return html`<div class="operator">
    <nav class="group-list" aria-label=${words.groups}>
      <ul>
        ${groups.map(
          (entry) => html`<li key=${entry.id}>
            <button type="button" class="chat-entry" aria-current=${entry.id === open ? "true" : undefined} onClick=${() => setOpen(entry.id)}>
              <${Avatar} id=${`g${entry.number}`} name=${name(entry)} group />
              <span class="chat-text"><span class="chat-name">${name(entry)}</span><span class="chat-last">${entry.number}</span></span>
            </button>
          </li>`,
        )}
      </ul>
    </nav>
    <main class="operator-main">
      <p class="views">
        ${VIEWS.map(
          (each) => html`<button key=${each} type="button" aria-pressed=${each === view} onClick=${() => setView(each)}>${words[each]}</button>`,
        )}
      </p>
      ${view === "documents"
        ? html`<${Documents} key=${open} group=${open} title=${name(group)} token=${token} />`
        : html`<h2>${name(group)}</h2>
            <${StatisticsView} key=${open} address=${`${PREFIX}/statistics`} group=${open} headers=${headersOf(token)} />`}
    </main>
  </div>`;
}

function Documents({ group, title, token }) {
  const { words } = usePage();
  const library = useMemo(() => createLibrary({ prefix: PREFIX, place: { group }, headers: headersOf(token) }), [group, token]);
  const [page, setPage] = useState(0);
  const [listed, setListed] = useState(null);
  const [number, setNumber] = useState(0);
  const [changes, setChanges] = useState(0);
  const [failure, setFailure] = useState("");

  useEffect(() => {
    let current = true;
    ask(`${PREFIX}/documents`, { group, page: page + 1 }, { headers: headersOf(token) }).then(
      (found) => current && setListed(found),
      (error) => current && setFailure(error.code),
    );
    return () => {
      current = false;
    };
  }, [page, changes]);

  if (failure) {
    return html`<p class="warning" role="alert">${words.errors[failure] ?? words.errors.unknown}</p>`;
  }
  if (number) {
    return html`<${DocumentView}
      library=${library}
      number=${number}
      close=${() => setNumber(0)}
      removed=${() => {
        setNumber(0);
        setChanges(changes + 1);
      }}
    />`;
  }
  const pages = listed ? Math.max(1, Math.ceil(listed.total / listed.page_size)) : 1;
  return html`<h2>${title} ${listed && html`<small>${words.documents_count(listed.total)}</small>`}</h2>
    ${!listed
      ? html`<p class="empty">${words.loading}</p>`
      : html`<ul class="documents">
            ${listed.documents.map(
              (document) => html`<li key=${document.number} class="document" data-document-name=${document.name}>
                <p class="document-head">
                  <span class="number">${document.number}</span>
                  <button type="button" class="document-name link" onClick=${() => setNumber(document.number)}>${document.name}</button>
                </p>
                <p class="facts">${documentFacts(document, words).map((fact, at) => html`<span key=${at}>${fact}</span>`)}</p>
              </li>`,
            )}
          </ul>
          ${listed.total === 0 && html`<p class="empty">${words.operator_none}</p>`}`}
    ${pages > 1 && html`<${Pager} page=${page} pages=${pages} setPage=${setPage} />`}`;
}

render(html`<${Page} />`, document.getElementById("page"));
