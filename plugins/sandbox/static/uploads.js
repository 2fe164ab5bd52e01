/** Files on their way to the bot: one after another in each chat, with progress; a failed one waits for a retry. */

let keys = 0;

/**
 * @param {{dispatch: (action: object) => void, limit: () => number}} page
 */
export function createUploads({ dispatch, limit }) {
  const waiting = [];
  const running = new Map();

  function add(chat, speaker, files) {
    for (const file of files) {
      const upload = { key: ++keys, chat, speaker, name: file.name, size: file.size, sent: 0, state: "waiting" };
      dispatch({ type: "ui/upload", upload });
      waiting.push({ ...upload, file });
    }
    next();
  }

  function next() {
    for (const upload of [...waiting]) {
      if ([...running.values()].some((other) => other.upload.chat === upload.chat)) {
        continue;
      }
      waiting.splice(waiting.indexOf(upload), 1);
      start(upload);
    }
  }

  function start(upload) {
    const { key, chat, speaker, name, file } = upload;
    if (file.size > limit()) {
      failed(upload, "file_too_large", "");
      return;
    }
    const request = post("/sandbox/files", { chat, speaker, name }, file, {
      progress: (sent) => dispatch({ type: "ui/upload", upload: { key, sent, state: "sending" } }),
      done: () => settle(() => dispatch({ type: "ui/upload-gone", key })),
      failed: (code, detail) => settle(() => failed(upload, code, detail)),
    });
    running.set(key, { upload, request });
    dispatch({ type: "ui/upload", upload: { key, sent: 0, state: "sending" } });

    function settle(tell) {
      running.delete(key);
      tell();
      next();
    }
  }

  const broken = new Map();

  function failed(upload, code, detail) {
    broken.set(upload.key, upload);
    dispatch({ type: "ui/upload", upload: { key: upload.key, state: "failed", code, detail } });
  }

  return {
    add,
    retry(key) {
      const upload = broken.get(key);
      if (upload) {
        broken.delete(key);
        dispatch({ type: "ui/upload", upload: { key, sent: 0, state: "waiting", code: "", detail: "" } });
        waiting.push(upload);
        next();
      }
    },
    remove(key) {
      broken.delete(key);
      const at = waiting.findIndex((upload) => upload.key === key);
      if (at >= 0) {
        waiting.splice(at, 1);
      }
      const active = running.get(key);
      running.delete(key);
      active?.request.abort();
      dispatch({ type: "ui/upload-gone", key });
      next();
    },
  };
}

/**
 * A POST of raw bytes that tells how far it is, which fetch cannot.
 * @param {string} path
 * @param {Record<string, string>} query
 * @param {Blob} body
 */
export function post(path, query, body, { progress, done, failed }) {
  const address = new URL(path, location.href);
  for (const [name, value] of Object.entries(query)) {
    address.searchParams.set(name, value);
  }
  const request = new XMLHttpRequest();
  request.open("POST", address);
  request.upload.addEventListener("progress", (event) => progress?.(event.loaded));
  request.addEventListener("load", () => {
    if (request.status >= 200 && request.status < 300) {
      done();
    } else {
      const { code, detail } = problemOf(request.responseText);
      failed(code || "unknown", code ? detail || "" : `HTTP ${request.status}`);
    }
  });
  request.addEventListener("error", () => {
    // A folder, or a file that changed or vanished on the disk, fails like a network that is down.
    body.slice(0, 1).arrayBuffer().then(
      () => failed("network", ""),
      () => failed("unreadable", ""),
    );
  });
  request.setRequestHeader("Content-Type", "application/octet-stream");
  request.send(body);
  return request;
}

function problemOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
