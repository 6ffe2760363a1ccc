(function () {
  "use strict";
  var root = document.documentElement;
  root.classList.add("js");
  var theme = document.getElementById("theme");
  var themes = ["auto", "light", "dark"];
  theme.hidden = false;
  theme.addEventListener("click", function () {
    var next = themes[(themes.indexOf(root.dataset.theme || "auto") + 1) % 3];
    if (next === "auto") delete root.dataset.theme; else root.dataset.theme = next;
    theme.textContent = "Theme: " + next;
  });
  var pick = document.getElementById("pick");
  var pairs = Array.prototype.slice.call(document.querySelectorAll(".pair"));
  function find(pair, select, other) {
    var all = Array.prototype.slice.call(pair.children);
    var value = select ? select.value : "0";
    var exact = all.filter(function (a) { return a.dataset.v === value; })[0];
    if (exact) return exact;
    var option = select && select.options[select.selectedIndex].text.replace(/^.*?\(([^)]*)\).*$/, "$1");
    var near = all.filter(function (a) { return a.dataset.n === option && a !== other; })[0];
    return near || all.filter(function (a) { return a !== other; })[0];
  }
  function show() {
    var selects = pick ? pick.querySelectorAll("select") : [];
    pairs.forEach(function (pair) {
      var left = find(pair, selects[0], null);
      var right = selects[1] ? find(pair, selects[1], left) : null;
      Array.prototype.forEach.call(pair.children, function (article) {
        article.classList.toggle("left", article === left);
        article.classList.toggle("right", article === right && article !== left);
      });
    });
  }
  if (pick) {
    pick.hidden = false;
    pick.addEventListener("change", show);
    document.getElementById("swap").addEventListener("click", function () {
      var selects = pick.querySelectorAll("select");
      var first = selects[0].value;
      selects[0].value = selects[1].value;
      selects[1].value = first;
      show();
    });
  }
  show();
})();
