"use strict";
// The explorer of topics. Names and texts of the corpus become text nodes only, never markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const {topics, words, documents, similarity, groups} = data;
  const at = (id) => document.getElementById(id);
  const byShare = topics.id.map((_, i) => i).sort((a, b) => topics.share[b] - topics.share[a] || a - b);
  const state = {topic: byShare[0], lambda: data.lambdas.indexOf(0.6), document: null, pair: null};
  const PALETTE = 7;  // colours of .c0 to .c6; .c7 is for all other topics

  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "class") element.className = value;
      else if (name === "click") element.addEventListener("click", value);
      else if (value !== null) element.setAttribute(name, value);
    }
    if (tag === "button") element.type = "button";
    element.append(...children);
    return element;
  }
  const named = (text, kind = "") => make("span", {class: `name ${kind}`, title: kind ? text : null},
    text === "" ? "(empty)" : text);
  const fill = (id, children) => at(id).replaceChildren(...children);
  const percent = (x, digits = 1) => (100 * x).toFixed(digits) + "%";
  const amount = (x) => x.toLocaleString("en", {maximumFractionDigits: x < 10 && x % 1 ? 2 : 0});
  const clamp = (x) => Math.min(Math.max(x, 0), 1);

  function bar(value, kind = "") {
    const element = make("span", {class: `bar ${kind}`});
    element.style.width = 100 * clamp(value) + "%";
    return element;
  }
  function whisker(low, high) {
    const element = make("span", {class: "whisker"});
    element.style.left = 100 * clamp(low) + "%";
    element.style.width = 100 * (clamp(high) - clamp(low)) + "%";
    return element;
  }

  // Words of a topic by relevance, with lambda as an index of data.lambdas.
  function relevant(topic, lambda) {
    const weight = data.lambdas[lambda], {word, probability} = topics.listed[topic];
    const score = (i) => Math.log(probability[i]) - (1 - weight) * Math.log(words.share[word[i]]);
    const rows = word.map((w, i) => ({word: w, probability: probability[i], score: score(i)}));
    rows.sort((a, b) => b.score - a.score || a.word - b.word);
    return rows.slice(0, data.n_listed);
  }
  topics.listed = words.listed;
  topics.label = topics.name || topics.id.map((_, i) => relevant(i, data.lambdas.length - 1).slice(0, 4)
    .map((row) => words.name[row.word]).join(" "));
  // The heading of a panel, and the name of the topic if it has one.
  const titled = (before, i, after = "") => [`${before} ${topics.id[i]}${after}`,
    ...(topics.name ? [": ", named(topics.name[i])] : [])];

  function topicButton(i, value, extra = [], attributes = {}) {
    return make("button", {class: "topic", "data-topic": topics.id[i], click: () => choose(i), ...attributes},
      make("span", {class: "id"}, String(topics.id[i])), named(topics.label[i], "clipped"),
      make("span", {class: "value"}, value), ...extra);
  }

  function drawTopics() {
    const error = topics.share_std, largest = Math.max(...topics.share.map((x, i) => x + 2 * (error ? error[i] : 0)));
    at("topics-hint").textContent = "Numbers as in the model." + (error ? ` Lines are ${topics.deviations}.` : "") +
      (topics.stability ? " Stability: how alike the topic is in all chains or fits, from 0 to 1." : "");
    fill("topic-list", byShare.map((i) => {
      const share = topics.share[i], track = make("span", {class: "track"}, bar(share / largest));
      if (error) track.append(whisker((share - 2 * error[i]) / largest, (share + 2 * error[i]) / largest));
      const extra = [track];
      if (topics.stability) {
        const where = topics.found_in ? `, in ${topics.found_in[i]}` : "";
        const found = topics.stability[i] === null ? topics.no_topic : `stability ${topics.stability[i].toFixed(2)}${where}`;
        extra.push(make("span", {class: "stability"}, found));
      }
      return make("li", {}, topicButton(i, percent(share) + (error ? ` ± ${(100 * error[i]).toFixed(1)}` : ""), extra));
    }));
  }

  function drawWords() {
    const weight = data.lambdas[state.lambda], rows = relevant(state.topic, state.lambda);
    const N = data.n_tokens, share = topics.share[state.topic];
    const own = (row) => row.probability * share, all = (row) => words.share[row.word];
    const largest = Math.max(...rows.map((row) => Math.max(own(row), all(row))));
    at("words-title").replaceChildren(...titled("Words of topic", state.topic));
    at("lambda").value = state.lambda;
    at("lambda-value").textContent = weight.toFixed(2);
    at("lambda").setAttribute("aria-valuetext", `lambda ${weight.toFixed(2)}`);
    at("count-title").textContent = N === null ? "p(w)" : "corpus";
    fill("word-list", rows.map((row) => make("tr", {"data-word": words.id[row.word]},
      make("td", {}, make("button", {class: "clipped", click: () => showWord(row.word)},
        named(words.name[row.word]))),
      make("td", {}, make("div", {class: "track"}, bar(all(row) / largest, "all"), bar(own(row) / largest))),
      make("td", {class: "number"}, N === null ? percent(all(row), 2) : amount(words.count[row.word])),
      make("td", {class: "number"}, percent(row.probability, 2)))));
  }

  function drawFiner() {
    const lines = topics.finer ? topics.finer[state.topic] : [];
    at("finer").hidden = !lines.length;
    fill("finer-list", lines.map((line) => make("li", {}, line)));
  }

  function showWord(w) {
    at("word").hidden = false;
    at("word-title").replaceChildren("Topics of the word ", named(words.name[w]));
    at("word").dataset.word = words.id[w];
    at("word-hint").textContent = words.count === null
      ? `p(w) is ${percent(words.share[w], 3)}.` : `${amount(words.count[w])} tokens in the corpus.`;
    fill("word-topics", pairs(words.topics[w]).map(([i, value]) =>
      make("li", {}, topicButton(i, percent(value), [make("span", {class: "track"}, bar(value))]))));
  }
  const pairs = (flat) => Array.from({length: flat.length / 2}, (_, i) => [flat[2 * i], flat[2 * i + 1]]);

  function drawDocuments() {
    const closest = documents.closest[state.topic];
    at("documents-title").replaceChildren(...titled("Documents closest to topic", state.topic));
    fill("document-list", closest.map((d, rank) => {
      const share = pairs(documents.topics[d]).find(([i]) => i === state.topic);
      const std = documents.std ? ` ± ${(100 * documents.std[state.topic][rank]).toFixed(1)}` : "";
      return make("li", {}, make("button", {"data-document": documents.id[d], click: () => showDocument(d)},
        make("span", {class: "value"}, (share ? percent(share[1]) : "< 1%") + std),
        named(documents.name[d], "clipped")));
    }));
  }

  function showDocument(d) {
    state.document = d;
    const found = pairs(documents.topics[d]), parts = documents.text[d];
    at("document").dataset.document = documents.id[d];
    at("document-title").replaceChildren(named(documents.name[d]));
    for (const button of at("document-list").querySelectorAll("button")) {
      button.setAttribute("aria-current", String(button.dataset.document === String(documents.id[d])));
    }
    const kinds = {
      state: "Each token has its topic in the last draw of the chain.",
      fold_in: "Each token has its topic in a draw given the topics of the fit.",
      likeliest: "Each token has its most probable topic."
    };
    at("document-hint").textContent = (documents.tokens ? `${amount(documents.tokens[d])} tokens. ` : "") +
      (parts ? kinds[documents.topic_kind] : "This page has the topics of this document, but not its words.");
    // The chosen topic always has the first colour; all others than the seven largest are grey.
    const order = [...new Set([state.topic, ...found.map(([i]) => i)])];
    const colour = (i) => { const c = order.indexOf(i); return `c${c >= 0 && c < PALETTE ? c : PALETTE}`; };
    fill("document-topics", found.map(([i, value]) => make("li", {}, make("button",
      {class: `chip ${colour(i)}`, title: topics.label[i], "data-topic": topics.id[i], click: () => choose(i)},
      ...titled("topic", i), `${topics.name ? "," : ":"} ${percent(value)}`))));
    const token = (text, i, kind = "") => i < 0 ? make("span", {class: kind}, text) : make("span", {
      class: `token ${kind} ${colour(i)}`, "data-topic": topics.id[i],
      title: `topic ${topics.id[i]}: ${topics.label[i]}`}, text);
    const shown = [];
    if (parts && parts.text) {
      for (let j = 0; j < parts.text.length; j += 3) {
        shown.push(parts.text[j]);
        if (parts.text[j + 1] !== "") shown.push(token(parts.text[j + 1], parts.text[j + 2]));
      }
    } else if (parts) {
      for (let j = 0; j < parts.bag.length; j += 3) {
        const count = parts.bag[j + 2], name = words.name[parts.bag[j]];
        shown.push(token((name === "" ? "(empty)" : name) + (count > 1 ? ` ×${count}` : ""), parts.bag[j + 1], "bag"),
          " ");
      }
    }
    fill("text", shown);
  }

  // The map of similarities, in the order of a hierarchical clustering.
  const alike = (i, j) => similarity.values[Math.max(i, j)][Math.min(i, j)];
  const darkest = similarity.values.reduce((most, row, i) => row.slice(0, i).reduce((a, b) => Math.max(a, b), most), 0);
  function colours() {
    const style = getComputedStyle(document.documentElement), read = (name) => {
      const hex = style.getPropertyValue(name).trim();
      return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
    };
    return {low: read("--low"), high: read("--high"), text: style.getPropertyValue("--text"),
      focus: style.getPropertyValue("--own")};
  }
  function geometry(canvas) {
    const n = topics.id.length, margin = n <= 40 ? 26 : 0;
    return {n, margin, cell: (canvas.clientWidth - margin) / n};
  }
  function drawMap() {
    const canvas = at("map"), scale = window.devicePixelRatio || 1, size = canvas.clientWidth;
    if (!size) return;
    canvas.width = canvas.height = Math.round(size * scale);
    const pen = canvas.getContext("2d"), {n, margin, cell} = geometry(canvas), {low, high, text, focus} = colours();
    pen.scale(scale, scale);
    for (let r = 0; r < n; r++) {
      for (let c = 0; c < n; c++) {
        const value = Math.min(alike(similarity.order[r], similarity.order[c]) / (darkest || 1), 1);
        pen.fillStyle = `rgb(${low.map((x, q) => Math.round(x + (high[q] - x) * value)).join(",")})`;
        pen.fillRect(margin + c * cell, margin + r * cell, cell + .5, cell + .5);
      }
    }
    pen.fillStyle = text;
    pen.font = `${Math.max(9, Math.min(12, cell - 2))}px sans-serif`;
    pen.textBaseline = "middle";
    for (let r = 0; margin && r < n; r++) {
      const label = String(topics.id[similarity.order[r]]), middle = margin + (r + .5) * cell;
      pen.textAlign = "right";
      pen.fillText(label, margin - 4, middle, margin - 4);
      pen.textAlign = "center";
      pen.fillText(label, middle, margin / 2, cell);
    }
    const chosen = similarity.order.indexOf(state.topic), box = (c, r, w, h, width) => {
      pen.lineWidth = width;
      pen.strokeRect(margin + c * cell, margin + r * cell, w * cell, h * cell);
    };
    pen.strokeStyle = "#d55e00";
    box(0, chosen, n, 1, 1.5);
    box(chosen, 0, 1, n, 1.5);
    if (state.pair) {
      pen.strokeStyle = focus;
      box(state.pair[1], state.pair[0], 1, 1, 3);
    }
  }
  function showPair(r, c) {
    const last = topics.id.length - 1, keep = (x) => Math.min(Math.max(x, 0), last);
    state.pair = [keep(r), keep(c)];
    const [i, j] = state.pair.map((place) => similarity.order[place]);
    at("pair").replaceChildren(`Topics ${topics.id[i]} (`, named(topics.label[i]), `) and ${topics.id[j]} (`,
      named(topics.label[j]), `): similarity ${alike(i, j).toFixed(2)}`);
    drawMap();
  }
  function pointed(event) {
    const {margin, cell} = geometry(at("map")), box = at("map").getBoundingClientRect();
    const place = (x) => Math.floor((x - margin) / cell);
    return [place(event.clientY - box.top), place(event.clientX - box.left)];
  }
  function drawSimilar() {
    const others = topics.id.map((_, i) => i).filter((i) => i !== state.topic);
    others.sort((a, b) => alike(state.topic, b) - alike(state.topic, a) || a - b);
    at("scale").textContent = ` The strongest colour is a similarity of ${darkest.toFixed(2)} or more.`;
    at("map").setAttribute("aria-label", `Map of the similarity of ${topics.id.length} topics`);
    at("similar-title").replaceChildren(...(others.length ? titled("Most similar to topic", state.topic) : []));
    fill("similar-list", others.slice(0, 5).map((i) =>
      make("li", {}, topicButton(i, alike(state.topic, i).toFixed(2)))));
  }

  function drawGroups() {
    at("groups").hidden = !groups;
    document.querySelector("main").classList.toggle("no-groups", !groups);
    if (!groups) return;
    at("groups-title").replaceChildren(...titled("Topic", state.topic, " in the groups"));
    at("groups-hint").textContent = groups.kind === "mixture"
      ? `Posterior means of the mixtures. Lines are ${topics.deviations}.`
      : "Share of the topic in the tokens of the group. Lines are two standard errors, with documents as the sample.";
    const mean = groups.mean.map((row) => row[state.topic]);
    const std = groups.std.map((row) => row[state.topic]);
    const largest = Math.max(...mean.map((x, g) => x + 2 * (std[g] || 0))) || 1;
    fill("group-list", groups.name.map((name, g) => make("li", {class: "group"}, named(name, "clipped"),
      make("span", {class: "track"}, bar(mean[g] / largest),
        ...(std[g] === null ? [] : [whisker((mean[g] - 2 * std[g]) / largest, (mean[g] + 2 * std[g]) / largest)])),
      make("span", {class: "value"}, mean[g] === null ? "unknown"
        : percent(mean[g]) + (std[g] === null ? "" : ` ± ${(100 * std[g]).toFixed(1)}`)))));
  }

  function choose(i) {
    state.topic = i;
    for (const button of at("topic-list").querySelectorAll("button")) {
      const current = button.dataset.topic === String(topics.id[i]);
      button.setAttribute("aria-current", String(current));
      if (current && at("topic-list").scrollHeight > at("topic-list").clientHeight) {
        const list = at("topic-list"), top = button.offsetTop - list.offsetTop;
        if (top < list.scrollTop || top + button.offsetHeight > list.scrollTop + list.clientHeight) list.scrollTop = top;
      }
    }
    drawWords();
    drawFiner();
    drawDocuments();
    if (documents.closest[i].length) showDocument(documents.closest[i][0]);
    drawSimilar();
    drawMap();
    drawGroups();
  }

  function find(names, query) {
    const starts = [], contains = [];
    for (let i = 0; i < names.length && starts.length < 10; i++) {
      const place = names[i].toLowerCase().indexOf(query);
      if (place === 0) starts.push(i);
      else if (place > 0 && contains.length < 10) contains.push(i);
    }
    return [...starts, ...contains].slice(0, 10);
  }
  function search() {
    const query = at("query").value.trim().toLowerCase(), list = [];
    const show = (action, i) => () => { closeResults(); action(i); };
    const open = {
      topic: (i) => { choose(i); reveal("words-title"); },
      word: (w) => { showWord(w); reveal("word-title"); },
      document: (d) => { showDocument(d); reveal("document-title"); }
    };
    const kinds = [["Words", "word", words], ["Documents", "document", documents]];
    if (topics.name) kinds.unshift(["Topics", "topic", topics]);
    for (const [title, kind, from] of kinds) {
      const found = query ? find(from.name, query) : [];
      if (found.length) list.push(make("h3", {}, title));
      for (const i of found) {
        list.push(make("button", {[`data-${kind}`]: from.id[i], click: show(open[kind], i)},
          named(from.name[i], "clipped")));
      }
    }
    if (query && !list.length) list.push(make("p", {class: "hint"}, `No ${topics.name ? "topic, no " : ""}word and no document contains this.`));
    fill("results", list);
    at("results").hidden = !query;
  }
  const closeResults = () => { at("results").hidden = true; };
  function reveal(id) {
    at(id).focus({preventScroll: true});
    at(id).scrollIntoView({block: "nearest"});
  }

  function step(event, buttons) {
    const place = buttons.indexOf(document.activeElement), by = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (by === undefined) return;
    event.preventDefault();
    (buttons[place + by] || buttons[place])?.focus();
  }
  const isDark = () => document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  function labelTheme() { at("theme").textContent = isDark() ? "Light colours" : "Dark colours"; }

  at("lambda").max = data.lambdas.length - 1;
  at("lambda").addEventListener("input", () => { state.lambda = Number(at("lambda").value); drawWords(); });
  at("query").addEventListener("input", search);
  at("finder").addEventListener("keydown", (event) => {
    if (event.key === "Escape") { closeResults(); at("query").focus(); }
    else step(event, [at("query"), ...at("results").querySelectorAll("button")]);
  });
  at("finder").addEventListener("focusout", (event) => {
    if (!at("finder").contains(event.relatedTarget)) closeResults();
  });
  for (const id of ["topic-list", "document-list", "similar-list"]) {
    at(id).addEventListener("keydown", (event) => step(event, [...at(id).querySelectorAll("button")]));
  }
  at("map").addEventListener("mousemove", (event) => showPair(...pointed(event)));
  at("map").addEventListener("click", (event) => { showPair(...pointed(event)); choosePair(); });
  at("map").addEventListener("keydown", (event) => {
    const moves = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
    const place = similarity.order.indexOf(state.topic), [r, c] = state.pair || [place, place];
    if (event.key === "Enter") choosePair();
    else if (moves[event.key]) showPair(r + moves[event.key][0], c + moves[event.key][1]);
    else return;
    event.preventDefault();
  });
  function choosePair() {
    if (!state.pair) return;
    const [i, j] = state.pair.map((place) => similarity.order[place]);
    choose(i === state.topic ? j : i);
  }
  at("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    labelTheme();
    drawMap();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { labelTheme(); drawMap(); });
  new ResizeObserver(drawMap).observe(at("map"));

  const wanted = new URLSearchParams(location.hash.slice(1));
  if (["light", "dark"].includes(wanted.get("theme"))) document.documentElement.dataset.theme = wanted.get("theme");
  const linked = topics.id.indexOf(Number(wanted.get("topic") ?? -1));
  at("summary").textContent = `${amount(data.n_topics)} topics, ${amount(data.n_words)} words, ` +
    `${amount(data.n_documents)} documents` + (data.n_tokens === null ? "" : `, ${amount(data.n_tokens)} tokens`);
  if (topics.name) at("query-label").textContent = "Find a topic, a word or a document";
  fill("notes", data.notes.map((note) => make("p", {}, note)));
  labelTheme();
  drawTopics();
  choose(linked >= 0 ? linked : state.topic);
})();
