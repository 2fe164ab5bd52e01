/** Language and colours before the first paint: a module would run after it, and a dark page would flash white. */
(() => {
  const root = document.documentElement;
  try {
    root.dataset.theme = localStorage.getItem("qunzhi.theme") || "auto";
    root.lang = localStorage.getItem("qunzhi.language") === "en" ? "en" : "zh-CN";
  } catch {
    root.dataset.theme = "auto";
  }
})();
