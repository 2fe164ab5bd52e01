/** The state with those who listen to it, and what is read from it. */

import { EMPTY, reduce } from "./state.js";

/** A state that can be asked and listened to; listeners hear of all changes of one frame of the screen at once. */
export function createStore(state = EMPTY) {
  const listeners = new Set();
  let due = false;

  function tell() {
    due = false;
    for (const listener of listeners) {
      listener(state);
    }
  }

  return {
    get state() {
      return state;
    },
    dispatch(action) {
      const next = reduce(state, action);
      if (next !== state && !due) {
        due = true;
        // A hidden page draws no frames, but its title and unread counts should still be right.
        document.hidden ? setTimeout(tell, 50) : requestAnimationFrame(tell);
      }
      state = next;
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export function openChat(state) {
  return state.chats.find((chat) => chat.id === state.open) ?? null;
}

/** Who speaks in a chat: in a private chat only the person whose chat with the bot it is. */
export function speakerIn(state, chat) {
  if (chat?.kind === "private") {
    return chat.members.find((member) => member.id !== state.bot.id)?.id ?? state.speaker;
  }
  return state.speaker;
}

/** The answer whose evidence is shown, with whether it is the latest of the chat; null where there is none. */
export function shownAnswer(state) {
  const ofChat = state.answers.filter((entry) => entry.chat === state.open);
  const chosen = state.chosen[state.open];
  const entry = chosen ? ofChat.find(({ message }) => message === chosen) : ofChat.at(-1);
  return { entry: entry ?? null, latest: entry === ofChat.at(-1), asked: chosen ?? null };
}
