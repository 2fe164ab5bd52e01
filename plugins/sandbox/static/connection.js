/** The one WebSocket to the bot: frames in and out, and coming back after it breaks. */

const FIRST_WAIT_S = 1;
const LONGEST_WAIT_S = 10;

/**
 * @param {{frame: (frame: object) => void, status: (connection: {status: string, seconds: number}) => void}} on
 */
export function connect(on) {
  const address = new URL("/sandbox/ws", location.href);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  let socket = null;
  let wait = FIRST_WAIT_S;
  let timer = 0;

  function open() {
    clearTimeout(timer);
    on.status({ status: "connecting", seconds: 0 });
    const opened = new WebSocket(address);
    socket = opened;
    opened.addEventListener("open", () => {
      wait = FIRST_WAIT_S;
      on.status({ status: "open", seconds: 0 });
    });
    opened.addEventListener("message", (event) => on.frame(JSON.parse(event.data)));
    opened.addEventListener("close", () => {
      if (socket === opened) {
        socket = null;
        countDown(wait);
        wait = Math.min(wait * 2, LONGEST_WAIT_S);
      }
    });
  }

  function countDown(seconds) {
    if (seconds <= 0) {
      open();
      return;
    }
    on.status({ status: "waiting", seconds });
    timer = setTimeout(() => countDown(seconds - 1), 1000);
  }

  open();
  return {
    /** @returns {boolean} whether the frame went out */
    send(frame) {
      if (socket?.readyState !== WebSocket.OPEN) {
        return false;
      }
      socket.send(JSON.stringify(frame));
      return true;
    },
    retry() {
      if (socket === null) {
        open();
      }
    },
  };
}
