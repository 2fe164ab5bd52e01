/** Which messages of a long conversation are drawn, and where the view stands: at the end, or where one reads. */

import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "./vendor/preact.js";

const PAGE = 100;
const NEAR_END_PX = 48;
const NEAR_START_PX = 400;

/**
 * Draw the last hundred messages, a hundred more each time the reader comes to the top, the last hundred again when he
 * is back at the end. The component is made anew for each chat. `sent` counts what the reader himself sent.
 */
export function useMessageWindow(messages, sent) {
  const scroller = useRef(null);
  const content = useRef(null);
  const atEnd = useRef(true);
  const top = useRef(0);
  const heightBefore = useRef(null);
  const target = useRef(null);
  const [start, setStart] = useState(Math.max(0, messages.length - PAGE));
  const [seen, setSeen] = useState(messages.length);
  const count = messages.length;

  const toEnd = useCallback(() => {
    const box = scroller.current;
    // Scroll and resize events come a frame later, when another chat may be open already.
    if (!box) {
      return;
    }
    box.scrollTop = box.scrollHeight;
    atEnd.current = true;
  }, []);

  // New messages follow only a reader who is at the end; his window moves along, so that it stays small.
  useLayoutEffect(() => {
    if (atEnd.current) {
      setStart(Math.max(0, count - PAGE));
      setSeen(count);
      toEnd();
    }
  }, [count]);

  useLayoutEffect(toEnd, [sent]);

  useLayoutEffect(() => {
    const box = scroller.current;
    if (heightBefore.current !== null) {
      box.scrollTop += box.scrollHeight - heightBefore.current;
      heightBefore.current = null;
    }
    if (target.current) {
      reveal(target.current);
    }
  }, [start]);

  // Pictures that load and windows that change their size move the end.
  useEffect(() => {
    const observer = new ResizeObserver(() => atEnd.current && toEnd());
    observer.observe(content.current);
    observer.observe(scroller.current);
    return () => observer.disconnect();
  }, []);

  function onScroll() {
    const box = scroller.current;
    if (!box) {
      return;
    }
    const near = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_END_PX;
    // Only scrolling up leaves the end: a banner that takes room also puts the end further away for a moment.
    atEnd.current = near || (atEnd.current && box.scrollTop >= top.current);
    top.current = box.scrollTop;
    if (atEnd.current) {
      setSeen(count);
    } else if (box.scrollTop < NEAR_START_PX && start > 0) {
      heightBefore.current = box.scrollHeight;
      setStart(Math.max(0, start - PAGE));
    }
  }

  function reveal(id) {
    const element = content.current.querySelector(`[data-message-id="${CSS.escape(id)}"]`);
    target.current = null;
    if (element) {
      atEnd.current = false;
      element.scrollIntoView({ block: "center" });
      element.focus({ preventScroll: true });
    }
  }

  /** Scroll to a message, drawing what lies between if need be. */
  function goTo(id) {
    const at = messages.findIndex((message) => message.id === id);
    if (at >= start) {
      reveal(id);
    } else if (at >= 0) {
      atEnd.current = false;
      target.current = id;
      setStart(Math.max(0, at - PAGE / 2));
    }
  }

  return { scroller, content, start, behind: count - seen, onScroll, toEnd, goTo };
}
