/** What the user can do, each as one function; the only place that sends anything to the bot. */

import { save } from "./preferences.js";
import { openChat, speakerIn } from "./store.js";
import { post } from "./uploads.js";

/**
 * @param {ReturnType<typeof import("./store.js").createStore>} store
 * @param {() => {send: (frame: object) => boolean, retry: () => void}} connection
 * @param {ReturnType<typeof import("./uploads.js").createUploads>} uploads
 */
export function createActions(store, connection, uploads) {
  const { dispatch } = store;
  const send = (frame) => connection().send(frame);
  const speaker = (chat) => speakerIn(store.state, chat);
  // Who says something wants to see it, wherever he was reading.
  const toEnd = () => dispatch({ type: "ui/set", patch: { sent: store.state.sent + 1 } });
  const problem = (code, detail) => dispatch({ type: "error", code, detail });

  function open(chat, view = "conversation") {
    // On a phone, going back leads from a chat to the list, not away from the page.
    if (store.state.narrow && store.state.view === "list" && view !== "list" && !history.state?.inChat) {
      history.pushState({ inChat: true }, "");
    }
    dispatch({ type: "ui/open", chat, view });
    save("chat", chat);
    send({ type: "watch", chat });
  }

  return {
    open,
    /** The chat `step` places further in the list. */
    openNext(step) {
      const { chats, open: current } = store.state;
      const at = chats.findIndex((chat) => chat.id === current);
      const next = chats[(at + step + chats.length) % chats.length];
      if (next) {
        open(next.id);
      }
    },
    view: (view) => (view === "list" && history.state?.inChat ? history.back() : dispatch({ type: "ui/view", view })),
    tab: (tab) => dispatch({ type: "ui/tab", tab, chosen: true }),
    togglePanel() {
      const { narrow, medium, view, panel } = store.state;
      if (narrow) {
        dispatch({ type: "ui/view", view: view === "evidence" ? "conversation" : "evidence" });
      } else {
        dispatch({ type: "ui/set", patch: { panel: !panel } });
        if (!medium) {
          save("panel", panel ? "closed" : "open");
        }
      }
    },
    /** Show why the bot said this message. */
    explain(message) {
      dispatch({ type: "ui/choose", chat: message.chat, message: message.id });
      dispatch({ type: "ui/tab", tab: "answer" });
      dispatch({ type: "ui/set", patch: store.state.narrow ? { view: "evidence" } : { panel: true } });
    },
    openDocument: (document) => dispatch({ type: "ui/set", patch: { document } }),
    closeDocument: () => dispatch({ type: "ui/set", patch: { document: 0 } }),
    documentRemoved: (number) => dispatch({ type: "ui/document-gone", number }),
    latestAnswer: () => dispatch({ type: "ui/choose", chat: store.state.open, message: null }),

    speakAs(person) {
      dispatch({ type: "ui/set", patch: { speaker: person } });
      save("speaker", person);
    },
    say(chat, text, at, who = speaker(chat)) {
      const reply_to = store.state.replies[chat.id] ?? null;
      const sent = send({ type: "say", chat: chat.id, speaker: who, text, at, reply_to });
      if (sent) {
        replyTo(chat, null);
        toEnd();
      }
      return sent;
    },
    /** @param {{file: File, text: string, at: boolean}} picture */
    sayWithImage(chat, { file, text, at }, then) {
      const query = { chat: chat.id, speaker: speaker(chat), name: file.name, text, at: at ? "1" : "0" };
      const quoted = store.state.replies[chat.id];
      post("/sandbox/images", quoted ? { ...query, reply_to: quoted } : query, file, {
        done() {
          replyTo(chat, null);
          toEnd();
          then(true);
        },
        failed(code, detail) {
          problem(code, detail);
          then(false);
        },
      });
    },
    /** A sample question is a member's, who needs no rights for it. */
    ask(chat, question) {
      const { stage, speaker: current } = store.state;
      const people = stage.people.filter((person) => person.role === "member");
      const asker = people.find((person) => person.id === current) ?? people[0] ?? { id: current };
      send({ type: "say", chat: chat.id, speaker: asker.id, text: question, at: true, reply_to: null });
      toEnd();
    },
    replyTo,
    recall: (message) =>
      send({ type: "recall", message: message.id, operator: speaker(openChat(store.state)) }),
    react: (message, emoji, on) =>
      send({ type: "react", message: message.id, speaker: speaker(openChat(store.state)), emoji, on }),
    samples(chat) {
      // Documents are the teacher's: the first of the people is the owner.
      send({ type: "samples", chat: chat.id, speaker: store.state.stage.people[0].id });
    },
    sendFiles(chat, files) {
      uploads.add(chat.id, speaker(chat), files);
      toEnd();
    },
    retryUpload: uploads.retry,
    removeUpload: uploads.remove,

    trouble: (name, on) => send({ type: "trouble", name, on }),
    endTroubles() {
      for (const name of store.state.troubles) {
        send({ type: "trouble", name, on: false });
      }
    },
    dialect: (name) => send({ type: "dialect", name }),
    cut: () => send({ type: "cut" }),
    storm: () => send({ type: "storm", chat: store.state.open }),
    replay(file) {
      post("/sandbox/replay", {}, file, { done: () => dispatch({ type: "ui/set", patch: { replay: null } }), failed: problem });
    },
    dismiss: (key) => dispatch({ type: "ui/notice-gone", key }),
    reconnect: () => connection().retry(),
  };

  function replyTo(chat, message) {
    dispatch({ type: "ui/set", patch: { replies: { ...store.state.replies, [chat.id]: message?.id ?? null } } });
  }
}
