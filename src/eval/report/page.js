"use strict";
(() => {
  const by = (id) => document.getElementById(id);

  // Filters of wrong verdicts.
  const cases = [...document.querySelectorAll(".case")];
  const filter = () => {
    const kind = by("by-kind").value, source = by("by-source").value, text = by("by-text").value.toLowerCase();
    let shown = 0;
    for (const one of cases) {
      const fits = (!kind || one.dataset.kind === kind) && (!source || one.dataset.source === source)
        && (!text || one.textContent.toLowerCase().includes(text));
      one.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    by("count").textContent = shown + " shown";
  };
  if (cases.length) {
    for (const id of ["by-kind", "by-source", "by-text"]) by(id).addEventListener("input", filter);
    filter();
  }

  // Thresholds: [probability or null, is an attack, is stopped in this run].
  if (!by("steps")) return;
  const steps = JSON.parse(by("steps").textContent);
  const share = (some, of) => of ? (100 * some / of).toFixed(1) + " %  (" + some + " of " + of + ")" : "–";
  const slide = () => {
    const allow = by("allow").value / 1000, deny = by("deny").value / 1000;
    by("allow-value").textContent = allow.toFixed(3);
    by("deny-value").textContent = deny > 1 ? "never" : deny.toFixed(3);
    let attacks = 0, stopped = 0, honest = 0, blocked = 0, asked = 0;
    for (const [probability, attack, stops] of steps) {
      let stop = stops === 1;
      if (probability !== null) {
        if (probability >= deny) stop = true;
        else if (allow > 0 && probability <= allow) stop = false;
        else asked += 1;
      }
      if (attack) { attacks += 1; stopped += stop ? 1 : 0; } else { honest += 1; blocked += stop ? 1 : 0; }
    }
    by("slid-recall").textContent = share(stopped, attacks);
    by("slid-blocked").textContent = share(blocked, honest);
    by("slid-asked").textContent = share(asked, steps.length);
  };
  for (const id of ["allow", "deny"]) by(id).addEventListener("input", slide);
  slide();
})();
