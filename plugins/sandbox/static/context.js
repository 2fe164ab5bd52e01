/** What every part of the page needs: the words of the language and what the user can do. */

import { Component, createContext, html, useContext } from "./vendor/preact.js";

export const PageContext = createContext({ words: {}, actions: {} });

/** @returns {{words: ReturnType<typeof import("./words.js").wordsOf>, actions: ReturnType<typeof import("./actions.js").createActions>}} */
export const usePage = () => useContext(PageContext);

/** The same component, drawn again only when one of its properties is another object or value. */
export function pure(render) {
  return class extends Component {
    static displayName = render.name;

    shouldComponentUpdate(next) {
      const keys = new Set([...Object.keys(next), ...Object.keys(this.props)]);
      return [...keys].some((key) => next[key] !== this.props[key]);
    }

    render(properties) {
      return html`<${render} ...${properties} />`;
    }
  };
}
