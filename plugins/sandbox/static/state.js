/** What the page knows: one immutable state, changed only by frames of the server and by what the user chooses. */

const KEPT_ANSWERS = 50;
const KEPT_CALLS = 100;

export const EMPTY = {
  connection: { status: "connecting", seconds: 0 },
  stage: null,
  bot: null,
  troubles: [],
  chats: [],
  open: "",
  view: "conversation",
  speaker: "",
  knowledge: {},
  document: 0,
  answers: [],
  chosen: {},
  calls: [],
  replay: null,
  typing: {},
  notices: [],
  uploads: [],
  replies: {},
  tab: "documents",
  tabChosen: false,
  news: {},
  panel: true,
  said: null,
  sent: 0,
};

/** @returns the state after an action: a frame of the server as it came, or `ui/…` with a patch */
export function reduce(state, action) {
  switch (action.type) {
    case "stage":
      return withStage(state, action);
    case "message":
      return withMessage(state, action.message);
    case "bot":
      return { ...state, bot: action.bot };
    case "troubles":
      return { ...state, troubles: action.troubles };
    case "typing":
      return { ...state, typing: { ...state.typing, [action.chat]: Date.now() } };
    case "knowledge":
      return withKnowledge(state, action);
    case "answer":
      return withAnswer(state, action);
    case "call":
      return { ...state, calls: [action.call, ...state.calls].slice(0, KEPT_CALLS) };
    case "replay":
      return { ...state, replay: replayed(state.replay, action) };
    case "error":
      return withNotice(state, { code: action.code, detail: action.detail || "" });
    case "ui/open":
      return {
        ...seen(state, action.chat),
        open: action.chat,
        document: state.open === action.chat ? state.document : 0,
        view: action.view ?? "conversation",
        tab: state.tabChosen ? state.tab : tabOf(state, action.chat),
      };
    case "ui/view":
      return action.view === "conversation"
        ? { ...seen(state, state.open), view: action.view }
        : { ...state, view: action.view };
    case "ui/tab":
      return {
        ...state,
        tab: action.tab,
        tabChosen: state.tabChosen || action.chosen === true,
        news: { ...state.news, [action.tab]: false },
      };
    case "ui/choose":
      return { ...state, chosen: { ...state.chosen, [action.chat]: action.message } };
    case "ui/document-gone":
      return { ...state, document: 0, knowledge: { ...state.knowledge, [state.open]: without(state.knowledge[state.open], action.number) } };
    case "ui/upload":
      return withUpload(state, action.upload);
    case "ui/upload-gone":
      return { ...state, uploads: state.uploads.filter((upload) => upload.key !== action.key) };
    case "ui/notice-gone":
      return { ...state, notices: state.notices.filter((notice) => notice.key !== action.key) };
    case "ui/untype":
      return { ...state, typing: { ...state.typing, [action.chat]: 0 } };
    case "ui/set":
      return { ...state, ...action.patch };
    default:
      return state;
  }
}

function withStage(state, stage) {
  const before = new Map(state.chats.map((chat) => [chat.id, chat]));
  const chats = stage.chats.map((chat) => {
    const known = before.get(chat.id);
    const old = new Set(known ? known.messages.map((message) => message.id) : []);
    const missed = known ? chat.messages.filter((message) => !old.has(message.id)).length : 0;
    return { ...chat, unread: isShown(state, chat.id) ? 0 : (known ? known.unread : 0) + missed };
  });
  const open = [state.open, chats[0]?.id ?? ""].find((id) => chats.some((chat) => chat.id === id)) ?? "";
  const members = stage.people.filter((person) => person.role === "member");
  const speaker = stage.people.some((person) => person.id === state.speaker)
    ? state.speaker
    : (members[0] ?? stage.people[0])?.id ?? "";
  return {
    ...state,
    stage,
    bot: stage.bot,
    troubles: stage.troubles,
    chats,
    open,
    speaker,
    typing: {},
  };
}

/** Whether the user has this chat before his eyes. */
function isShown(state, chat) {
  return state.open === chat && !(state.narrow && state.view === "list");
}

function withMessage(state, message) {
  const bot = state.bot?.id;
  let fresh = false;
  const chats = state.chats.map((chat) => {
    if (chat.id !== message.chat) {
      return chat;
    }
    const at = chat.messages.findLastIndex((known) => known.id === message.id);
    if (at >= 0) {
      return { ...chat, messages: chat.messages.with(at, message) };
    }
    fresh = true;
    const unread = isShown(state, chat.id) ? 0 : chat.unread + 1;
    return { ...chat, messages: [...chat.messages, message], unread };
  });
  const next = { ...state, chats };
  if (fresh && message.sender === bot) {
    next.typing = { ...state.typing, [message.chat]: 0 };
    if (message.chat === state.open) {
      next.said = message;
    }
  }
  return next;
}

function withKnowledge(state, { chat, knowledge }) {
  const next = { ...state, knowledge: { ...state.knowledge, [chat]: knowledge } };
  const working = knowledge.progress.length > (state.knowledge[chat]?.progress.length ?? 0);
  return chat === state.open && working ? noticed(next, "documents") : next;
}

/** Until the next frame tells the rest, a deleted document is at least not listed any more. */
function without(knowledge, number) {
  return knowledge && { ...knowledge, documents: knowledge.documents.filter((document) => document.number !== number) };
}

function withAnswer(state, { chat, message, answer }) {
  const others = state.answers.filter((known) => known.message !== message);
  const next = { ...state, answers: [...others, { chat, message, answer }].slice(-KEPT_ANSWERS) };
  if (chat !== state.open) {
    return next;
  }
  return noticed({ ...next, chosen: { ...state.chosen, [chat]: null } }, "answer");
}

/** The panel follows what happens until the user picks a tab; from then on a dot on the tab tells of it. */
function noticed(state, tab) {
  if (state.tab === tab) {
    return state;
  }
  return state.tabChosen ? { ...state, news: { ...state.news, [tab]: true } } : { ...state, tab };
}

const tabOf = (state, chat) => (state.answers.some((entry) => entry.chat === chat) ? "answer" : "documents");

/** How far a replay is, with every step that did not go as recorded. */
function replayed(before, { step, of, running, recorded, said, problem, as_recorded }) {
  const known = before?.running ? before.differences : [];
  const differs = running && as_recorded === false;
  return { step, of, running, differences: differs ? [...known, { step, recorded, said, problem }] : known };
}

function withUpload(state, upload) {
  const at = state.uploads.findIndex((known) => known.key === upload.key);
  const uploads = at < 0 ? [...state.uploads, upload] : state.uploads.with(at, { ...state.uploads[at], ...upload });
  return { ...state, uploads };
}

let notices = 0;

function withNotice(state, notice) {
  const same = state.notices.filter((known) => known.code !== notice.code || known.detail !== notice.detail);
  return { ...state, notices: [...same.slice(-2), { ...notice, key: ++notices }] };
}

function seen(state, id) {
  return { ...state, chats: state.chats.map((chat) => (chat.id === id && chat.unread ? { ...chat, unread: 0 } : chat)) };
}
