(function () {
  var kept = null;
  try { kept = localStorage.getItem("foresolve-theme"); } catch (error) { kept = null; }
  var dark = kept ? kept === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
