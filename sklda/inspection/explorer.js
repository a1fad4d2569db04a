"use strict";
// The explorer of topics. Names and texts of the corpus become text nodes only, never markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const {topics, words, documents, similarity, groups, periods} = data;
  // All elements are found once: that of a word moves between rows of the table, which are made anew.
  const elements = Object.fromEntries([...document.querySelectorAll("[id]")].map((element) => [element.id, element]));
  const at = (id) => elements[id];
  const byShare = topics.id.map((_, i) => i).sort((a, b) => topics.share[b] - topics.share[a] || a - b);
  const state = {topic: byShare[0], lambda: data.lambdas.indexOf(0.6), word: null, document: null, pair: null};
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
  function draw(tag, attributes = {}, ...children) {
    const element = document.createElementNS(at("map").namespaceURI, tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "click") element.addEventListener("click", value);
      else if (value !== null) element.setAttribute(name, value);
    }
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
  const firstWords = (n) => topics.id.map((_, i) => relevant(i, data.lambdas.length - 1).slice(0, n)
    .map((row) => words.name[row.word]).join(" "));
  topics.label = topics.name || firstWords(4);
  topics.shortLabel = topics.name || firstWords(3);
  // A number alone does not say that it is a document.
  documents.label = documents.numbered ? documents.name.map((name) => `document ${name}`) : documents.name;
  // A long name loses what it has in common with its neighbour in the alphabet, so that the part that differs is seen.
  const LONGEST = 64, alphabetical = documents.label.map((_, d) => d)
    .sort((a, b) => (documents.label[a] < documents.label[b] ? -1 : 1));
  const common = (a = "", b = "") => { let n = 0; while (n < a.length && a[n] === b[n]) n++; return n; };
  documents.shortLabel = [];
  alphabetical.forEach((d, i) => {
    const label = documents.label[d], beside = [i - 1, i + 1].map((j) => documents.label[alphabetical[j]]);
    const differs = Math.max(...beside.map((other) => common(label, other)));
    const start = Math.min(label.length - LONGEST, differs - LONGEST / 4);
    documents.shortLabel[d] = start > 0 ? "…" + label.slice(start) : label;
  });
  function documentLabel(d) {
    const label = named(documents.shortLabel[d], "short document");
    label.title = documents.label[d];
    return [label, ...(documents.excerpt && documents.excerpt[d] ? [named(documents.excerpt[d], "clipped excerpt")] : [])];
  }
  // The heading of a panel, and the name of the topic if it has one.
  const titled = (before, i, after = "", kind = "") => [`${before} ${topics.id[i]}${after}`,
    ...(topics.name ? [": ", named(topics.name[i], kind)] : [])];

  function topicButton(i, value, extra = [], attributes = {}) {
    return make("button", {class: "topic", "data-topic": topics.id[i], click: () => choose(i), ...attributes},
      make("span", {class: "id"}, String(topics.id[i])), named(topics.label[i], "short"),
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
      make("td", {}, make("button", {class: "short", "aria-expanded": "false",
        click: () => toggleWord(row.word)}, named(words.name[row.word]))),
      make("td", {}, make("div", {class: "track"}, bar(all(row) / largest, "all"), bar(own(row) / largest))),
      make("td", {class: "number"}, N === null ? percent(all(row), 2) : amount(words.count[row.word])),
      make("td", {class: "number"}, percent(row.probability, 2)))));
    placeWord();
  }

  function showWord(w) {
    state.word = w;
    at("word-title").replaceChildren("Topics of the word ", named(words.name[w]));
    at("word").dataset.word = words.id[w];
    at("word-hint").textContent = words.count === null
      ? `p(w) is ${percent(words.share[w], 3)}.` : `${amount(words.count[w])} tokens in the corpus.`;
    fill("word-topics", pairs(words.topics[w]).map(([i, value]) =>
      make("li", {}, topicButton(i, percent(value), [make("span", {class: "track"}, bar(value))],
        {click: () => choose(i, true)}))));
    placeWord();
    drawPlaces();
  }
  function toggleWord(w) {
    if (state.word === w) return closeWord();
    showWord(w);
    at("word").scrollIntoView({block: "nearest"});
  }
  // The topics of a word are below its row, or above all rows if the topic does not list it.
  function placeWord() {
    at("word").hidden = state.word === null;
    document.getElementById("word-row")?.remove();
    for (const button of at("word-list").querySelectorAll("[aria-expanded=true]")) {
      button.setAttribute("aria-expanded", "false");
    }
    const row = state.word === null ? null : at("word-list").querySelector(`tr[data-word="${words.id[state.word]}"]`);
    if (row) {
      row.querySelector("button").setAttribute("aria-expanded", "true");
      row.after(make("tr", {id: "word-row"}, make("td", {colspan: 4}, at("word"))));
    } else {
      at("word-outside").append(at("word"));
    }
  }
  function closeWord() {
    const button = at("word-list").querySelector("[aria-expanded=true]");
    const inside = at("word").contains(document.activeElement);
    state.word = null;
    placeWord();
    drawPlaces();
    if (inside) (button || at("words-title")).focus();
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
        ...documentLabel(d)));
    }));
  }

  // The words of documents are in blocks of deflated JSON. Those that were unpacked last are kept.
  const unpacked = new Map(), KEPT_BLOCKS = 8, PORTION = 20000;
  async function unpack(base64) {
    const stream = new DecompressionStream("deflate"), writer = stream.writable.getWriter();
    writer.write(Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)));
    writer.close();
    return JSON.parse(await new Response(stream.readable).text());
  }
  async function wordsOf(d) {
    const block = documents.blocks.findLast(([first]) => first <= d);
    if (!block) return null;
    const [first, base64] = block;
    if (!unpacked.has(first)) {
      unpacked.set(first, await unpack(base64));
      if (unpacked.size > KEPT_BLOCKS) unpacked.delete(unpacked.keys().next().value);
    }
    return unpacked.get(first)[d - first];
  }

  async function showDocument(d) {
    state.document = d;
    const found = pairs(documents.topics[d]);
    at("document").dataset.document = documents.id[d];
    at("document").setAttribute("aria-busy", "true");
    at("document-title").replaceChildren(named(documents.label[d]));
    for (const button of at("document-list").querySelectorAll("button")) {
      button.setAttribute("aria-current", String(button.dataset.document === String(documents.id[d])));
    }
    const kinds = {
      state: "Each token has its topic in the last draw of the chain.",
      fold_in: "Each token has its topic in a draw given the topics of the fit.",
      likeliest: "Each token has its most probable topic."
    };
    // The chosen topic always has the first colour; all others than the seven largest are grey.
    const order = [...new Set([state.topic, ...found.map(([i]) => i)])];
    const colour = (i) => { const c = order.indexOf(i); return `c${c >= 0 && c < PALETTE ? c : PALETTE}`; };
    fill("document-topics", found.map(([i, value]) => make("li", {}, make("button",
      {class: `chip ${colour(i)}`, title: topics.label[i], "data-topic": topics.id[i], click: () => choose(i)},
      ...titled("topic", i, "", "clipped"), `${topics.name ? "," : ":"} ${percent(value)}`))));
    const token = (text, i, kind = "") => i < 0 ? make("span", {class: kind}, text) : make("span", {
      class: `token ${kind} ${colour(i)}`, "data-topic": topics.id[i],
      title: `topic ${topics.id[i]}: ${topics.label[i]}`}, text);
    let parts = null, failed = "";
    try {
      parts = await wordsOf(d);
    } catch (error) {
      failed = typeof DecompressionStream === "undefined" ? "This browser cannot unpack texts: use one of 2023 or later."
        : `The text could not be unpacked (${error.message}).`;
    }
    // Another document may have been chosen meanwhile.
    if (state.document !== d) return;
    at("document-hint").textContent = [
      documents.date && documents.date[d] ? `${documents.date[d]}.` : "",
      documents.tokens ? `${amount(documents.tokens[d])} tokens.` : "",
      failed || (parts ? kinds[documents.topic_kind] : "This page has the topics of this document, but not its words."),
      parts && parts.whole ? (parts.text ? `Of ${amount(parts.whole)} characters these are the first ` +
        `${amount([...parts.text.join("")].length)}.`
        : `Of ${amount(parts.whole)} pairs of a word and a topic these are ${amount(parts.bag.length / 3)}.`) : ""
    ].filter(Boolean).join(" ");
    // Each element is a function, and those of a long document are made in portions.
    const pieces = [];
    if (parts && parts.text) {
      parts.text.forEach((piece, j) => pieces.push([piece.length,
        () => (j % 2 ? token(piece, parts.topics[(j - 1) / 2]) : piece)]));
    } else if (parts) {
      for (let j = 0; j < parts.bag.length; j += 3) {
        const [word, topic, count] = parts.bag.slice(j, j + 3), name = words.name[word] || "(empty)";
        const text = name + (count > 1 ? ` ×${count}` : "");
        pieces.push([text.length, () => token(text, topic, "bag")], [1, () => " "]);
      }
    }
    let next = 0, left = pieces.reduce((sum, [length]) => sum + length, 0);
    const grow = () => {
      const shown = document.createDocumentFragment();
      for (let size = 0; next < pieces.length && size < PORTION; next++) {
        const [length, element] = pieces[next];
        shown.append(element());
        size += length;
        left -= length;
      }
      at("text").append(shown);
      at("more").hidden = next === pieces.length;
      at("more").textContent = `Show more: ${amount(left)} characters are left`;
    };
    at("text").replaceChildren();
    at("text").scrollTop = 0;
    at("more").onclick = grow;
    grow();
    at("document").setAttribute("aria-busy", "false");
  }

  const alike = (i, j) => similarity.values[Math.max(i, j)][Math.min(i, j)];
  const darkest = similarity.values.reduce((most, row, i) => row.slice(0, i).reduce((a, b) => Math.max(a, b), most), 0);

  // The map of topics: circles whose area is the share, or that of the tokens of a word, each with its number.
  const FILLED = 0.16;  // the part of the map that circles fill
  const CROWDED = 0.5;  // the part that circles and numbers may take; with more topics the map is higher
  // Pixels: the heights of a number and of a name of two lines, and the radius of the smallest circle.
  const NUMBER = 11, NAME = 30, SMALLEST = 3;
  const ruler = document.createElement("canvas").getContext("2d");
  let circles = [];
  // Half the size of the number of a topic.
  function numberSize(topic) {
    ruler.font = `600 ${NUMBER}px system-ui, sans-serif`;
    return [ruler.measureText(topics.id[topic]).width / 2 + 1, 0.4 * NUMBER];
  }
  function cut(text, width) {
    if (ruler.measureText(text).width <= width) return text;
    let letters = [...text];
    while (letters.length > 1 && ruler.measureText(letters.join("") + "…").width > width) letters.pop();
    return letters.join("").trimEnd() + "…";
  }
  // At most two lines of a name.
  function lines(text, width) {
    const parts = text.replace(/\s+/g, " ").trim().slice(0, 200).split(" "), found = [""];
    parts.forEach((part) => {
      const longer = found.at(-1) === "" ? part : `${found.at(-1)} ${part}`;
      if (found.length === 2 || ruler.measureText(longer).width <= width || found.at(-1) === "") {
        found[found.length - 1] = longer;
      } else found.push(part);
    });
    return found.map((line) => cut(line, width));
  }
  const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  // Places of the circles at their shares, and the height of the map. Those of a word are at the same places.
  let arrangement = {width: 0};
  function arrange(width) {
    if (arrangement.width === width) return;
    let height = Math.round(width * (width < 360 ? 0.9 : 0.7));
    const area = FILLED * width * height / Math.PI, points = similarity.points;
    const radii = topics.share.map((share) => Math.max(Math.sqrt(area * share), SMALLEST));
    // What a circle keeps free of others: itself and its number.
    const bodies = radii.map((radius, i) => Math.max(radius, Math.hypot(...numberSize(i))) + 1);
    height = Math.max(height, Math.round(bodies.reduce((sum, r) => sum + Math.PI * r * r, 0) / (CROWDED * width)));
    const margin = Math.max(...bodies) + 3;
    const [low, high] = [Math.min, Math.max].map((end) => [0, 1].map((axis) => end(...points.map((p) => p[axis]))));
    const room = [width - 2 * margin, height - 2 * margin];
    const scale = Math.min(...[0, 1].map((axis) => room[axis] / (high[axis] - low[axis] || 1e-9)), 1e6);
    const centre = [0, 1].map((axis) => (low[axis] + high[axis]) / 2);
    const middles = points.map(([x, y]) => [width / 2 + scale * (x - centre[0]), height / 2 - scale * (y - centre[1])]);
    moveApart(middles, bodies, width, height);
    // Room above and below circles is for names.
    const top = Math.min(...middles.map(([, y], i) => y - bodies[i])) - NAME;
    const bottom = Math.max(...middles.map(([, y], i) => y + bodies[i])) + NAME;
    for (const middle of middles) middle[1] -= top;
    arrangement = {width, height: Math.round(bottom - top), middles, area, largest: Math.max(...radii)};
  }
  // Moves circles that overlap until none does, at most `MOVES` times all pairs.
  const MOVES = 1000, OVERLAP = 0.3;
  function moveApart(middles, bodies, width, height) {
    for (let n = 0, moved = true; moved && n < MOVES; n++) {
      moved = false;
      for (let i = 0; i < middles.length; i++) {
        const one = middles[i];
        for (let j = 0; j < i; j++) {
          const other = middles[j], needed = bodies[i] + bodies[j];
          let dx = one[0] - other[0], dy = one[1] - other[1];
          const square = dx * dx + dy * dy;
          if (square > (needed - OVERLAP) ** 2) continue;
          let distance = Math.sqrt(square);
          const missing = needed - distance;
          // Circles at one place have no direction: they get one by their numbers.
          if (distance < 1e-6) [dx, dy, distance] = [Math.cos(i), Math.sin(i), 1];
          const part = missing / 2 / distance;
          one[0] += part * dx;
          one[1] += part * dy;
          other[0] -= part * dx;
          other[1] -= part * dy;
          moved = true;
        }
        one[0] = Math.min(Math.max(one[0], bodies[i]), width - bodies[i]);
        one[1] = Math.min(Math.max(one[1], bodies[i]), height - bodies[i]);
      }
    }
  }
  function layout() {
    const {width, height, middles, area, largest} = arrangement;
    let sizes = topics.share, unit = Math.sqrt(area);
    if (state.word !== null) {
      sizes = topics.id.map(() => 0);
      for (const [i, value] of pairs(words.topics[state.word])) sizes[i] = value;
      // Circles stay inside the map: the largest is as large as that of the largest topic.
      unit = largest / Math.sqrt(Math.max(...sizes) || 1);
    }
    circles = middles.map(([x, y], i) => {
      const radius = Math.max(unit * Math.sqrt(sizes[i]), SMALLEST);
      return {topic: i, size: sizes[i], radius, x: Math.min(Math.max(x, radius), width - radius),
        y: Math.min(Math.max(y, radius), height - radius)};
    });
  }
  // Names below, above or beside circles, where they are on no other name and no other circle.
  function labels(width, height) {
    const around = (topic, x, y, w, h) => ({topic, left: x - w, right: x + w, top: y - h, bottom: y + h});
    const taken = circles.map((c) => around(c.topic, c.x, c.y,
      ...numberSize(c.topic).map((half) => Math.max(half, 0.8 * c.radius))));
    const inside = (box) => box.left >= 0 && box.right <= width && box.top >= 0 && box.bottom <= height;
    const order = [...circles].sort((a, b) => (b.topic === state.topic) - (a.topic === state.topic) || b.size - a.size);
    const found = [];
    for (const {topic, x, y, radius, size} of order) {
      const chosen = topic === state.topic;
      if (state.word !== null && !size && !chosen) continue;
      ruler.font = `${chosen ? "600 " : ""}12px system-ui, sans-serif`;
      const text = lines(topics.shortLabel[topic] || "(empty)", Math.min(110, width / 3.5));
      const w = Math.max(...text.map((line) => ruler.measureText(line).width)) / 2 + 1, h = 6.5 * text.length;
      const places = [[x, y + radius + h + 1], [x, y - radius - h - 2], [x + radius + w + 2, y], [x - radius - w - 2, y]];
      const boxes = places.map(([middle, level]) => around(topic, middle, level, w, h));
      const free = (box) => inside(box) && !taken.some((other) => other.topic !== topic && overlap(box, other));
      const box = boxes.find(free);
      if (!box) continue;
      taken.push(box);
      found.push({topic, text, x: (box.left + box.right) / 2, top: box.top});
    }
    return found;
  }
  function drawPlaces() {
    const svg = at("map"), width = svg.clientWidth;
    if (at("places").hidden || !width) return;
    arrange(width);
    const {height} = arrangement, focused = svg.contains(document.activeElement);
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.style.height = `${height}px`;
    layout();
    const of = (i) => state.word === null ? percent(topics.share[i])
      : circles[i].size ? percent(circles[i].size) : "less than 1%";
    at("places-hint").replaceChildren(...(state.word === null
      ? ["The area of a circle is the share of the topic."]
      : ["The area of a circle is the topic's part of the tokens of ", named(words.name[state.word]), "."]),
    circles.length === 1 ? "" : ` Similar topics are near each other, as far as a plane allows: it has ` +
      `${percent(similarity.part, 0)} of the variation of their distances.`);
    const chosen = circles[state.topic];
    const near = nearest(state.topic).slice(0, 3).map((i) => {
      // From edge to edge, so that no line is on a number.
      const other = circles[i], dx = other.x - chosen.x, dy = other.y - chosen.y, distance = Math.hypot(dx, dy) || 1;
      const [start, end] = [chosen.radius / distance, 1 - other.radius / distance];
      return draw("line", {x1: chosen.x + start * dx, y1: chosen.y + start * dy, x2: chosen.x + end * dx,
        y2: chosen.y + end * dy, "stroke-width": (0.5 + 4 * alike(state.topic, i)).toFixed(2)});
    });
    const order = [...circles].sort((a, b) => b.radius - a.radius);
    const marks = order.map(({topic, x, y, radius}) => {
      const current = topic === state.topic, name = `Topic ${topics.id[topic]}: ${topics.label[topic]}, ${of(topic)}`;
      return draw("g", {role: "button", tabindex: current ? 0 : -1, "aria-label": name, "aria-current": String(current),
        "data-topic": topics.id[topic], "data-place": topic, class: state.word === null ? null : "of-word"},
      draw("title", {}, name), draw("circle", {cx: x.toFixed(1), cy: y.toFixed(1), r: radius.toFixed(1)}));
    });
    // Above all circles, so that none is on a number.
    const numbered = circles.filter(({size}) => state.word === null || size);
    const numbers = numbered.map(({topic, x, y}) => draw("text", {class: `number${topic === state.topic ? " current" : ""}`,
      "data-number": topics.id[topic], x: x.toFixed(1), y: (y + 4).toFixed(1)}, String(topics.id[topic])));
    const texts = labels(width, height).map(({topic, text, x, top}) =>
      draw("text", {class: topic === state.topic ? "chosen" : null, "data-label": topics.id[topic]},
        ...text.map((line, j) => draw("tspan", {x: x.toFixed(1), y: (top + 11 + 13 * j).toFixed(1)}, line))));
    svg.replaceChildren(...near, ...marks, ...numbers, ...texts);
    if (focused) svg.querySelector('[aria-current="true"]').focus();
    describePlace(state.topic);
  }
  function describePlace(i) {
    const value = state.word === null ? [percent(topics.share[i])]
      : [circles[i].size ? percent(circles[i].size) : "less than 1%", " of ", named(words.name[state.word])];
    at("place").replaceChildren(`Topic ${topics.id[i]}, `, ...value, ": ", named(topics.label[i]));
  }
  // The circle at a place: the one whose edge is nearest, at most the breadth of a finger away.
  function circleAt(event) {
    const box = at("map").getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const found = circles.map((c) => [Math.hypot(c.x - x, c.y - y) - c.radius, c.radius, c.topic]);
    // Inside several circles, the smallest is meant.
    found.sort((a, b) => Math.max(a[0], 0) - Math.max(b[0], 0) || a[1] - b[1]);
    return found[0][0] < 22 ? found[0][2] : null;
  }
  function moveOnMap(event) {
    const direction = {ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0]}[event.key];
    const mark = event.target.closest("[data-place]");
    if (!mark) return;
    const from = circles[Number(mark.dataset.place)];
    if (event.key === "Enter" || event.key === " ") {
      choose(from.topic);
    } else if (direction) {
      let best = null, least = Infinity;
      for (const c of circles) {
        const along = (c.x - from.x) * direction[0] + (c.y - from.y) * direction[1];
        const aside = Math.abs((c.x - from.x) * direction[1]) + Math.abs((c.y - from.y) * direction[0]);
        if (c !== from && along > 0 && along >= aside / 2 && along + 2 * aside < least) {
          [best, least] = [c, along + 2 * aside];
        }
      }
      if (best) {
        at("map").querySelector(`[data-place="${best.topic}"]`).focus();
        describePlace(best.topic);
      }
    } else return;
    event.preventDefault();
  }

  // Similarities of all pairs, in the order of a hierarchical clustering.
  function colours() {
    const style = getComputedStyle(document.documentElement), read = (name) => {
      const hex = style.getPropertyValue(name).trim();
      return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
    };
    return {low: read("--low"), high: read("--high"), text: style.getPropertyValue("--text"),
      focus: style.getPropertyValue("--own")};
  }
  function geometry(canvas) {
    const n = topics.id.length, margin = (canvas.clientWidth - 26) / n >= 9 ? 26 : 0;
    return {n, margin, cell: (canvas.clientWidth - margin) / n};
  }
  function drawPairs() {
    const canvas = at("heat"), scale = window.devicePixelRatio || 1, size = canvas.clientWidth;
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
    const crowded = Math.max(...topics.id.map((id) => pen.measureText(id).width)) > cell - 3;
    for (let r = 0; margin && r < n; r++) {
      const label = String(topics.id[similarity.order[r]]), middle = margin + (r + .5) * cell;
      pen.textAlign = "right";
      pen.fillText(label, margin - 4, middle, margin - 4);
      pen.save();
      pen.translate(middle, margin - 4);
      if (crowded) pen.rotate(-Math.PI / 2);
      pen.textAlign = crowded ? "left" : "center";
      pen.fillText(label, 0, crowded ? 0 : -6);
      pen.restore();
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
    drawPairs();
  }
  function pointed(event) {
    const {margin, cell} = geometry(at("heat")), box = at("heat").getBoundingClientRect();
    const place = (x) => Math.floor((x - margin) / cell);
    return [place(event.clientY - box.top), place(event.clientX - box.left)];
  }
  function nearest(topic) {
    const others = topics.id.map((_, i) => i).filter((i) => i !== topic);
    return others.sort((a, b) => alike(topic, b) - alike(topic, a) || a - b);
  }
  function drawSimilar() {
    const others = nearest(state.topic);
    at("scale").textContent = ` The strongest colour is a similarity of ${darkest.toFixed(2)} or more.`;
    at("heat").setAttribute("aria-label", `Map of the similarity of ${topics.id.length} topics`);
    at("similar-title").replaceChildren(...(others.length ? titled("Most similar to topic", state.topic) : []));
    fill("similar-list", others.slice(0, 5).map((i) =>
      make("li", {}, topicButton(i, alike(state.topic, i).toFixed(2)))));
  }

  function drawGroups() {
    at("groups").hidden = !groups;
    if (!groups) return;
    at("groups-title").replaceChildren(...titled("Topic", state.topic, ` by ${groups.word}`));
    at("groups-hint").textContent = groups.kind === "mixture"
      ? "Mixtures of the model for its collections. Lines are 95 % intervals."
      : "Mean proportion of the topic in the documents of the group. Lines are 95 % intervals, as if the documents " +
        "were a sample.";
    const [mean, low, high] = ["mean", "low", "high"].map((name) => groups[name].map((row) => row[state.topic]));
    const largest = Math.max(...mean.map((x, g) => high[g] ?? x)) || 1;
    fill("group-list", groups.name.map((name, g) => make("li", {class: "group"}, named(name, "short"),
      make("span", {class: "value"}, mean[g] === null ? "unknown"
        : percent(mean[g]) + (low[g] === null ? "" : `, ${percent(low[g])} to ${percent(high[g])}`)),
      make("span", {class: "track"}, bar(mean[g] / largest),
        ...(low[g] === null ? [] : [whisker(low[g] / largest, high[g] / largest)])))));
  }

  // The topic in periods of time.
  function ticksOf(largest) {
    const steps = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5];
    const step = steps.find((each) => largest / each <= 5) || 0.5;
    return Array.from({length: Math.floor(largest / step + 1e-9) + 1}, (_, i) => [i * step, step < 0.01 ? 1 : 0]);
  }
  function drawPeriods() {
    at("periods").hidden = !periods;
    if (!periods) return;
    const t = state.topic, svg = at("time"), column = (name) => periods[name].map((row) => row[t]);
    const mean = column("mean"), low = column("low"), high = column("high");
    at("periods-title").replaceChildren(...titled("Topic", t, " over time"));
    at("periods-hint").textContent = `Mean proportion of the topic in the documents of each ${periods.length}; ` +
      "dashed: its share of all tokens. Lines are 95 % intervals, as if the documents were a sample." +
      (periods.undated ? ` ${amount(periods.undated)} documents have no date.` : "");
    at("period-title").textContent = periods.length;
    const known = mean.map((_, g) => g).filter((g) => mean[g] !== null);
    fill("period-list", known.map((g) => make("tr", {}, make("th", {scope: "row"}, periods.name[g]),
      make("td", {class: "number"}, amount(periods.documents[g])), make("td", {class: "number"}, percent(mean[g])),
      make("td", {class: "number"}, low[g] === null ? "unknown" : `${percent(low[g])} to ${percent(high[g])}`))));
    const width = svg.clientWidth, height = 190, left = 38, bottom = 22;
    if (!width) return;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.style.height = `${height}px`;
    const largest = Math.max(...known.map((g) => high[g] ?? mean[g]), topics.share[t], 1e-3);
    const x = (g) => left + (g + 0.5) / mean.length * (width - left - 4);
    const y = (value) => 8 + (height - bottom - 8) * (1 - value / largest);
    const line = (kind, x1, y1, x2, y2) => draw("line", {class: kind, x1, y1, x2, y2});
    const write = (text, x, y, anchor) => draw("text", {x, y, "text-anchor": anchor}, text);
    const parts = ticksOf(largest).flatMap(([value, digits]) => [line("axis", left, y(value), width, y(value)),
      write(percent(value, digits), left - 5, y(value) + 4, "end")]);
    // As many names of periods as there is room for, in equal steps.
    ruler.font = "11px system-ui, sans-serif";
    const widest = Math.max(...periods.name.map((name) => ruler.measureText(name).width)) + 12;
    const every = Math.ceil(widest * mean.length / (width - left));
    for (let g = 0; g < mean.length; g += every) {
      const half = ruler.measureText(periods.name[g]).width / 2;
      if (g === 0 || x(g) + half <= width) {
        parts.push(write(periods.name[g], Math.max(x(g), half), height - 6, "middle"));
      }
    }
    parts.push(line("mean", left, y(topics.share[t]), width, y(topics.share[t])));
    // No line goes over periods without documents.
    for (let from = 0, to = 1; to <= known.length; to++) {
      if (known[to] === known[to - 1] + 1) continue;
      const points = known.slice(from, to).map((g) => `${x(g).toFixed(1)},${y(mean[g]).toFixed(1)}`);
      if (points.length > 1) parts.push(draw("polyline", {class: "trend", points: points.join(" ")}));
      from = to;
    }
    for (const g of known) {
      const text = `${periods.name[g]}: ${percent(mean[g])}` + (low[g] === null ? ", interval unknown"
        : `, ${percent(low[g])} to ${percent(high[g])}`) + `, ${amount(periods.documents[g])} documents`;
      parts.push(draw("g", {}, draw("title", {}, text),
        ...(low[g] === null ? [] : [line("interval", x(g), y(low[g]), x(g), y(high[g]))]),
        draw("circle", {class: low[g] === null ? "unknown" : null, cx: x(g), cy: y(mean[g]), r: 3.5})));
    }
    svg.replaceChildren(...parts);
  }

  // The topics of a word stay open if it was one of these that was chosen.
  function choose(i, keepsWord = false) {
    state.topic = i;
    if (!keepsWord) state.word = null;
    const focused = at("word").contains(document.activeElement);
    at("jump-topic").replaceChildren(`${topics.id[i]}: `, named(topics.label[i]));
    for (const button of at("topic-list").querySelectorAll("button")) {
      button.setAttribute("aria-current", String(button.dataset.topic === String(topics.id[i])));
    }
    showInList();
    drawWords();
    drawDocuments();
    if (documents.closest[i].length) showDocument(documents.closest[i][0]);
    drawSimilar();
    drawPlaces();
    drawPairs();
    drawPeriods();
    drawGroups();
    if (focused) at("words-title").focus({preventScroll: true});
  }

  // Moves the list of topics so far that the chosen one is seen; the page stays where it is.
  function showInList() {
    const list = at("topic-list"), button = list.querySelector('[aria-current="true"]');
    const [outer, inner] = [list, button].map((element) => element.getBoundingClientRect());
    if (inner.top >= outer.top && inner.bottom <= outer.bottom) return;
    list.scrollTop += (inner.top + inner.bottom - outer.top - outer.bottom) / 2;
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
      // Documents are also found by the beginnings of their texts.
      if (query && from.excerpt) found.push(...find(from.excerpt, query).filter((i) => !found.includes(i)));
      if (found.length) list.push(make("h3", {}, title));
      for (const i of found.slice(0, 10)) {
        list.push(make("button", {[`data-${kind}`]: from.id[i], click: show(open[kind], i)},
          ...(kind === "document" ? documentLabel(i) : [named(from.name[i], "clipped")])));
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
  at("word-close").addEventListener("click", closeWord);
  at("words").addEventListener("keydown", (event) => { if (event.key === "Escape") closeWord(); });
  at("map").addEventListener("click", (event) => { const i = circleAt(event); if (i !== null) choose(i); });
  at("map").addEventListener("mousemove", (event) => describePlace(circleAt(event) ?? state.topic));
  at("map").addEventListener("mouseleave", () => describePlace(state.topic));
  at("map").addEventListener("keydown", moveOnMap);
  at("heat").addEventListener("mousemove", (event) => showPair(...pointed(event)));
  at("heat").addEventListener("click", (event) => { showPair(...pointed(event)); choosePair(); });
  at("heat").addEventListener("keydown", (event) => {
    const moves = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
    const place = similarity.order.indexOf(state.topic), [r, c] = state.pair || [place, place];
    if (event.key === "Enter") choosePair();
    else if (moves[event.key]) showPair(r + moves[event.key][0], c + moves[event.key][1]);
    else return;
    event.preventDefault();
  });
  for (const which of ["places", "pairs"]) {
    at(`show-${which}`).addEventListener("click", () => {
      for (const each of ["places", "pairs"]) {
        at(each).hidden = at(`${each}-help`).hidden = each !== which;
        at(`show-${each}`).setAttribute("aria-pressed", String(each === which));
      }
      drawPlaces();
      drawPairs();
    });
  }
  for (const button of at("jump").querySelectorAll("button")) {
    button.addEventListener("click", () => at(button.dataset.panel).scrollIntoView());
  }
  function choosePair() {
    if (!state.pair) return;
    const [i, j] = state.pair.map((place) => similarity.order[place]);
    choose(i === state.topic ? j : i);
  }
  at("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    labelTheme();
    drawPairs();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { labelTheme(); drawPairs(); });
  // Heights follow from widths, so only a change of the width draws again.
  const drawn = new Map();
  for (const [id, again] of [["map", drawPlaces], ["heat", drawPairs], ["time", drawPeriods]]) {
    new ResizeObserver(() => {
      if (drawn.get(id) === at(id).clientWidth) return;
      drawn.set(id, at(id).clientWidth);
      again();
    }).observe(at(id));
  }

  const wanted = new URLSearchParams(location.hash.slice(1));
  if (["light", "dark"].includes(wanted.get("theme"))) document.documentElement.dataset.theme = wanted.get("theme");
  const linked = topics.id.indexOf(Number(wanted.get("topic") ?? -1));
  const counted = (n, what) => `${amount(n)} ${what}${n === 1 ? "" : "s"}`;
  at("summary").textContent = [counted(data.n_topics, "topic"), counted(data.n_words, "word"),
    counted(data.n_documents, "document"), ...(data.n_tokens === null ? [] : [counted(data.n_tokens, "token")])].join(", ");
  if (topics.name) at("query-label").textContent = "Find a topic, a word or a document";
  fill("notes", data.notes.map((note) => make("p", {}, note)));
  labelTheme();
  drawTopics();
  choose(linked >= 0 ? linked : state.topic);
})();
