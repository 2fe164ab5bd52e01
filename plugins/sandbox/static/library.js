/** The documents of one knowledge base at the bot: opening them, reading them piece by piece, deleting them. */

/** What the bot refused. `code` is a key of the words for errors. */
export class Refused extends Error {
  constructor(code) {
    super(code);
    this.code = code;
  }
}

/** @returns the JSON of a response; throws `Refused` */
export async function ask(address, query, options = {}) {
  let response;
  try {
    response = await fetch(`${address}?${new URLSearchParams(query)}`, { cache: "no-store", ...options });
  } catch {
    throw new Refused("network");
  }
  if (response.ok) {
    return response.json();
  }
  let code = response.status === 401 ? "wrong_token" : "unknown";
  if (response.headers.get("content-type")?.includes("json")) {
    code = (await response.json()).code;
  }
  throw new Refused(code);
}

/**
 * `place` is the query that names the knowledge base, `headers` go with every request.
 * @param {{prefix: string, place: Record<string, string>, headers?: Record<string, string>}} properties
 */
export function createLibrary({ prefix, place, headers = {} }) {
  const get = (name, query) => ask(`${prefix}/${name}`, { ...place, ...query }, { headers });
  return {
    open: (number) => get("document", { number }),
    passages: (number, from) => get("passages", { number, from }),
    async remove({ number, version }) {
      const { deleted } = await ask(`${prefix}/deletion`, { ...place, number, version }, { method: "POST", headers });
      if (!deleted) {
        throw new Refused("changed_document");
      }
    },
  };
}
