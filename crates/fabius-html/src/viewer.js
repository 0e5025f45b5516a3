// Steps through the page. All text is already there, escaped; what is written here is set as text, never as markup.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const root = document.documentElement;
  const trace = JSON.parse($("trace").textContent);
  const steps = trace.steps, lanes = trace.lanes;
  const items = [...document.querySelectorAll(".steps li")];
  const lists = [...document.querySelectorAll(".steps > ol")];
  const scroll = document.querySelector(".scroll"), area = document.querySelector(".steps");
  const ROW = 22, SVG = "http://www.w3.org/2000/svg";
  root.classList.add("js");

  const make = (tag, text, name) => {
    const e = document.createElement(tag);
    if (text !== undefined) e.textContent = text;
    if (name) e.className = name;
    return e;
  };

  // What is known of the variables before each step: a change tells the value that was there.
  const key = (lane, c) => {
    const scope = c.scope ?? "shared";
    if (scope === "lane") return `lane ${lane}\n${c.variable}`;
    if (typeof scope === "object") return `frame ${lane} ${scope.frame}\n${c.variable}`;
    return `${scope}\n${c.variable}`;
  };
  const stackOf = (i) => steps[i].actions.at(-1)?.stack ?? [];
  // In the middle of a high stack stands how many procedures are not named.
  const depth = (stack) => stack.reduce((sum, p) => sum + +(/^\.\. (\d+) more \.\.$/.exec(p)?.[1] ?? 1), 0);

  let now = 0, timer = null, visible = items.map(() => true), tops = [], rows = items.map((e) => +e.dataset.r);

  // Rows above each step, of those that are shown; all rows are equally high.
  function measure() {
    let top = 0;
    tops = items.map((e, i) => { const t = top; if (visible[i]) top += rows[i]; return t; });
    let i = 0;
    for (const list of lists) {
      let sum = 0;
      for (let k = 0; k < list.children.length; k++, i++) if (visible[i]) sum += rows[i];
      list.style.setProperty("--rows", sum);
    }
    $("arrows").style.height = `${top * ROW}px`;
  }

  function show(i, { push = true, focus = false } = {}) {
    i = Math.max(0, Math.min(items.length - 1, i));
    items[now].classList.remove("now");
    items[now].removeAttribute("aria-current");
    items[now].querySelector(".no").tabIndex = -1;
    now = i;
    const item = items[i], link = item.querySelector(".no");
    item.classList.add("now");
    item.setAttribute("aria-current", "step");
    link.tabIndex = 0;
    if (focus) link.focus({ preventScroll: true });
    reveal(i);
    if (push) history.replaceState(null, "", `#step-${i + 1}`);
    $("at").textContent = `step ${i + 1} of ${items.length}`;
    $("said").textContent = spoken(i);
    source(i);
    state(i);
    arrows();
  }

  // In the middle, if it is not in sight. The document does not move.
  function reveal(i) {
    const head = document.querySelector(".lanes").offsetHeight;
    const y = area.offsetTop + tops[i] * ROW, h = rows[i] * ROW;
    if (y - head < scroll.scrollTop || y + h > scroll.scrollTop + scroll.clientHeight)
      scroll.scrollTop = y - scroll.clientHeight / 2 + h / 2;
  }

  function spoken(i) {
    const s = steps[i], text = s.actions.map((a) => {
      const changes = (a.changes ?? []).map((c) => `${c.variable} from ${c.old} to ${c.new}`);
      return [a.text, ...changes, a.note].filter(Boolean).join(", ");
    });
    const mark = items[i].querySelector(".mark")?.textContent;
    return [`Step ${i + 1}, ${lanes[s.lane]?.name ?? ""}`, mark, ...text].filter(Boolean).join("; ");
  }

  function source(i) {
    for (const e of document.querySelectorAll(".sl.now")) e.classList.remove("now");
    for (const e of document.querySelectorAll(".sl b")) e.remove();
    const line = (a) => {
      const file = files.get(a.file ?? trace.program.file);
      return file === undefined ? null : $(`L${file}-${a.at.line}`);
    };
    // Where everybody is: the last line of each lane until now.
    const seen = new Set();
    for (let k = i, budget = 5000; k >= 0 && seen.size < lanes.length && budget-- > 0; k--) {
      const s = steps[k], a = s.actions.at(-1);
      if (!a || seen.has(s.lane)) continue;
      seen.add(s.lane);
      line(a)?.append(make("b", lanes[s.lane].name, `c${s.lane % 8}`));
    }
    let first = null;
    for (const a of steps[i].actions) {
      const e = line(a);
      if (!e) continue;
      e.classList.add("now");
      e.style.setProperty("--c", `var(--c${steps[i].lane % 8})`);
      first ??= e;
    }
    for (const e of document.querySelectorAll(".source section")) e.hidden = !first || !e.contains(first);
    const pane = document.querySelector(".source");
    if (!first) { pane.querySelector("section")?.removeAttribute("hidden"); return; }
    const y = first.getBoundingClientRect().top - pane.getBoundingClientRect().top;
    if (y < 40 || y > pane.clientHeight - 60) pane.scrollTop += y - pane.clientHeight / 2;
  }
  const files = new Map([...document.querySelectorAll(".source section")].map((e, i) => [e.dataset.file, i]));

  function state(i) {
    const values = new Map(), changed = new Map();
    steps.forEach((s, k) => {
      for (const a of s.actions) for (const c of a.changes ?? []) {
        const id = key(s.lane, c);
        if (!values.has(id)) values.set(id, { variable: c.variable, scope: c.scope ?? "shared", lane: s.lane, value: c.old, from: k });
        if (k > i) continue;
        const v = values.get(id);
        v.value = c.new;
        if (k === i) changed.set(id, changed.get(id) ?? c.old);
      }
    });
    const lane = steps[i].lane, stack = stackOf(i);
    const groups = [["Shared", []], ["Objects", []], [`Of ${lanes[lane]?.name ?? "the lane"}`, []]];
    for (const [id, v] of values) {
      const frame = typeof v.scope === "object";
      if (v.scope === "shared") groups[0][1].push([id, v]);
      else if (v.scope === "object") groups[1][1].push([id, v]);
      else if (v.lane === lane && v.from <= i && (!frame || v.scope.frame < depth(stack))) groups[2][1].push([id, v]);
    }
    const pane = $("values");
    pane.replaceChildren();
    for (const [title, list] of groups) {
      if (!list.length) continue;
      pane.append(make("h3", title));
      const table = make("table"), body = make("tbody");
      for (const [id, v] of list) {
        const tr = make("tr"), name = make("td"), value = make("td", undefined, "mono");
        const button = make("button", v.variable);
        button.type = "button";
        button.title = "show only the steps that change it";
        button.addEventListener("click", () => { $("variable").value = v.variable; filter(); });
        name.append(button);
        if (changed.has(id)) {
          tr.className = "changed";
          value.append(make("del", changed.get(id)), " → ", make("ins", v.value));
        } else value.textContent = v.value;
        tr.append(name, value);
        body.append(tr);
      }
      table.append(body);
      pane.append(table);
    }
    if (!pane.childElementCount) pane.append(make("p", "No step changes a variable.", "none"));
    $("stack").replaceChildren(...stack.map((p) => { const li = make("li"); li.append(make("code", p)); return li; }));
    $("stack-title").hidden = !stack.length;
  }

  // Arrows between steps, of those in sight.
  function arrows() {
    const svg = $("arrows"), at = [...document.querySelectorAll(".geo")].map((e) => e.offsetLeft);
    const top = scroll.scrollTop - area.offsetTop - 400, bottom = top + scroll.clientHeight + 800;
    const drawn = [];
    for (const l of trace.links ?? []) {
      if (!visible[l.from] || !visible[l.to] || drawn.length > 400) continue;
      const a = steps[l.from].lane, b = steps[l.to].lane;
      const own = items[l.to].querySelector(".mark") ? 1 : 0;
      const y1 = (tops[l.from] + rows[l.from]) * ROW - ROW / 2, y2 = (tops[l.to] + own) * ROW + ROW / 2;
      if (a === b || Math.max(y1, y2) < top || Math.min(y1, y2) > bottom) continue;
      const side = at[b] >= at[a] ? 1 : -1;
      const x1 = at[a], x2 = at[b] + (side < 0 ? 4 : -2), bend = Math.min(70, 14 + (y2 - y1) / 5);
      const path = document.createElementNS(SVG, "path");
      path.setAttribute("d", `M${x1},${y1} C${x1 - 3},${y1 + bend} ${x2 - side * 12},${y2 - bend / 2} ${x2},${y2}`);
      path.setAttribute("class", l.kind + (l.from === now || l.to === now ? " on" : ""));
      path.setAttribute("marker-end", l.kind === "race" ? "url(#race-head)" : "url(#head)");
      if (l.kind === "race") path.setAttribute("marker-start", "url(#race-head)");
      path.dataset.link = `${l.from + 1}-${l.to + 1}`;
      drawn.push(path);
      if (l.label && l.kind !== "happens_before") {
        const text = document.createElementNS(SVG, "text");
        text.textContent = l.label.length > 28 ? l.label.slice(0, 27) + "…" : l.label;
        text.setAttribute("x", (x1 + x2) / 2 + 4);
        text.setAttribute("y", (y1 + y2) / 2);
        drawn.push(text);
      }
    }
    svg.replaceChildren(svg.querySelector("defs"), ...drawn);
  }
  let waiting = false;
  const later = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; arrows(); });
  };
  scroll.addEventListener("scroll", later, { passive: true });
  addEventListener("resize", () => { later(); reveal(now); });

  function filter() {
    const lane = $("lane").value, variable = $("variable").value;
    visible = steps.map((s) => (lane === "" || s.lane === +lane)
      && (variable === "" || s.actions.some((a) => (a.changes ?? []).some((c) => c.variable === variable))));
    items.forEach((e, i) => e.classList.toggle("out", !visible[i]));
    $("shown").textContent = visible.every(Boolean) ? "" : `${visible.filter(Boolean).length} steps shown`;
    measure();
    if (!visible[now]) { const next = find(now, 1) ?? find(now, -1); if (next !== undefined) return show(next); }
    reveal(now);
    arrows();
  }

  const find = (from, by) => {
    for (let i = from + by; i >= 0 && i < items.length; i += by) if (visible[i]) return i;
  };
  const go = (i, focus) => { if (i !== undefined) show(i, { focus }); };
  const run = (by) => {
    let i = find(now, by);
    while (i !== undefined && !items[i].classList.contains("first")) i = find(i, by);
    return i ?? (by < 0 ? find(-1, 1) : undefined);
  };

  // Search: text of statements, notes, names and values.
  const text = steps.map((s) => [lanes[s.lane]?.name, s.task_name, ...s.actions.flatMap((a) =>
    [a.text, a.note, ...(a.changes ?? []).flatMap((c) => [c.variable, c.new])])].filter(Boolean).join("\n").toLowerCase());
  let hits = [];
  function search() {
    for (const i of hits) items[i].classList.remove("hit");
    const wanted = $("search").value.trim().toLowerCase();
    hits = wanted ? text.flatMap((t, i) => (t.includes(wanted) ? [i] : [])) : [];
    for (const i of hits) items[i].classList.add("hit");
    $("shown").textContent = wanted ? `${hits.length} found` : "";
  }
  const hit = (by) => {
    const list = hits.filter((i) => visible[i]);
    go(by > 0 ? list.find((i) => i > now) ?? list[0] : list.findLast((i) => i < now) ?? list.at(-1));
  };

  function play() {
    if (timer) { clearInterval(timer); timer = null; }
    else {
      if (find(now, 1) === undefined) show(find(-1, 1));
      timer = setInterval(() => { const i = find(now, 1); if (i === undefined) play(); else show(i); }, 700);
    }
    $("play").textContent = timer ? "||" : "▶";
    $("play").setAttribute("aria-label", timer ? "pause" : "play");
  }

  const keys = {
    ArrowDown: () => go(find(now, 1), true), j: () => go(find(now, 1), true), ArrowRight: () => go(find(now, 1), true),
    ArrowUp: () => go(find(now, -1), true), k: () => go(find(now, -1), true), ArrowLeft: () => go(find(now, -1), true),
    PageDown: () => go(run(1), true), "]": () => go(run(1), true), PageUp: () => go(run(-1), true), "[": () => go(run(-1), true),
    Home: () => go(find(-1, 1), true), End: () => go(find(items.length, -1), true),
    p: play, "/": () => $("search").focus(), n: () => hit(1), N: () => hit(-1), "?": () => $("help").showModal(),
    Escape: () => { $("lane").value = $("variable").value = $("search").value = ""; search(); filter(); },
  };
  addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || $("help").open) return;
    if (e.target.matches("select, input") && e.key !== "Escape") {
      if (e.target.id === "search" && e.key === "Enter") { hit(e.shiftKey ? -1 : 1); e.preventDefault(); }
      return;
    }
    if (e.key === " " && !e.target.matches("button, a, summary")) { play(); e.preventDefault(); return; }
    const act = keys[e.key];
    if (act) { act(); e.preventDefault(); }
  });
  area.addEventListener("click", (e) => {
    if (e.target.closest("a")) return;
    const item = e.target.closest("li");
    if (item) show(items.indexOf(item));
  });
  const fromHash = () => {
    const at = /^#step-(\d+)$/.exec(location.hash);
    const i = at && +at[1] - 1;
    return i !== null && i >= 0 && i < items.length ? i : null;
  };
  addEventListener("hashchange", () => {
    const i = fromHash();
    if (i === null) return;
    if (!visible[i]) { $("lane").value = $("variable").value = ""; filter(); }
    show(i, { push: false });
  });
  $("first").addEventListener("click", () => go(find(-1, 1)));
  $("back").addEventListener("click", () => go(find(now, -1)));
  $("play").addEventListener("click", play);
  $("next").addEventListener("click", () => go(find(now, 1)));
  $("end").addEventListener("click", () => go(find(items.length, -1)));
  $("lane").addEventListener("change", filter);
  $("variable").addEventListener("change", filter);
  $("search").addEventListener("input", search);
  $("keys").addEventListener("click", () => $("help").showModal());
  $("copy")?.addEventListener("click", async () => {
    const command = $("command");
    try { await navigator.clipboard.writeText(command.textContent); $("copy").textContent = "copied"; }
    catch { getSelection().selectAllChildren(command); }
  });

  const names = new Set(steps.flatMap((s) => s.actions.flatMap((a) => (a.changes ?? []).map((c) => c.variable))));
  for (const name of [...names].sort()) $("variable").append(new Option(name, name));
  lanes.forEach((l, i) => $("lane").append(new Option(l.name, i)));
  measure();
  if (items.length) show(fromHash() ?? 0, { push: false });
})();
