export { Component, Fragment, createContext, render } from "preact";
export { useContext, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState, useCallback } from "preact/hooks";
import { h } from "preact";
import htm from "htm";
export const html = htm.bind(h);
