"use strict";
// The page of a coder. Words and texts of the corpus become text nodes only, never markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent), {task, items, labels} = data;
  const QUESTIONS = {
    words: "Which word does not belong?", topics: "Which of these does not fit the text?",
    documents: "Which text does not belong?", coding: "What is the text about?"
  };
  const wording = {
    question: QUESTIONS[data.kind], name: "Your name", start: "Start", back: "Back", next: "Next",
    none: "None of these", done: "Thank you. Please save the file and send it back.", save: "Save the file",
    ...data.wording
  };
  const RIGHT_TO_LEFT = ["ar", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"];
  const at = (id) => document.getElementById(id);
  const DIGITS = 9;  // Of so many options a digit chooses one; of more, it moves there, and Enter chooses.
  let coder = "", answers = [], seconds = [], place = 0, since = 0, typed = "", kept = true;

  // Frames and private windows may have no storage: then answers last until the page is closed.
  function storage(name, value) {
    try {
      if (value !== undefined) localStorage.setItem(`sklda ${task} ${name}`, value);
      return localStorage.getItem(`sklda ${task} ${name}`);
    } catch {
      kept = false;
      return null;
    }
  }
  const keep = () => storage(`coder ${coder}`, JSON.stringify([answers, seconds]));
  // The time in which the page is not seen does not count.
  function pass() {
    if (since && place < items.length) seconds[place] += (Date.now() - since) / 1000;
    since = document.hidden ? 0 : Date.now();
  }
  const optionsOf = (item) => (labels ? [...labels, wording.none] : item.options);

  function show(i) {
    pass();
    place = Math.max(i, 0);
    keep();
    const ended = place >= items.length;
    at("begin").hidden = true;
    at("task").hidden = ended;
    at("end").hidden = !ended;
    at("progress").value = answers.filter((answer) => answer).length;
    if (ended) {
      at("answers").value = table();
      at("done").focus();
      return;
    }
    const item = items[place], options = optionsOf(item);
    at("count").textContent = `${place + 1} / ${items.length}`;
    at("text").textContent = item.text;
    at("text").hidden = !item.text;
    at("options").className = options.some((option) => option.length > 60) ? "long" : "";
    at("options").replaceChildren(...options.map((option, j) => {
      const button = document.createElement("button"), row = document.createElement("li");
      button.type = "button";
      button.dir = "auto";
      button.textContent = option.trim() || "–";
      button.setAttribute("aria-pressed", String(answers[place] === j + 1));
      button.addEventListener("click", () => choose(j));
      row.append(button);
      return row;
    }));
    at("next").disabled = !answers[place];
    at("back").disabled = place === 0;
    typed = "";
    at("question").focus();
    window.scrollTo(0, 0);
  }
  function choose(j) {
    answers[place] = j + 1;
    show(place + 1);
  }

  // A row for each answer. Signs that begin a formula in a spreadsheet have an apostrophe before them.
  function cell(value) {
    const text = String(value).replace(/[\0-\x1f\x7f]+/g, " ");
    const safe = /^\s*[=+\-@]/.test(text) ? `'${text}` : text;
    return /[",]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  }
  function table() {
    const rows = items.flatMap((item, i) => {
      const options = optionsOf(item), shown = [item.text, ...(labels ? [] : options)].filter(Boolean).join(" | ");
      return answers[i]
        ? [[task, coder, i + 1, answers[i], options[answers[i] - 1], shown, seconds[i].toFixed(1)]] : [];
    });
    const titles = ["task", "coder", "item", "choice", "answer", "shown", "seconds"];
    return [titles, ...rows].map((row) => row.map(cell).join(",") + "\r\n").join("");
  }
  function save() {
    const link = document.createElement("a");
    // Spreadsheets know UTF-8 by its mark.
    link.href = URL.createObjectURL(new Blob(["\ufeff" + table()], {type: "text/csv;charset=utf-8"}));
    link.download = `${coder.replace(/[^\p{L}\p{N}]+/gu, "-") || "answers"}-${task}.csv`;
    link.click();
    kept = true;
  }

  document.documentElement.dir = RIGHT_TO_LEFT.includes(document.documentElement.lang.split("-")[0]) ? "rtl" : "ltr";
  for (const id of ["name", "start", "question", "back", "next", "done", "save"]) at(id).textContent = wording[id];
  at("again").textContent = wording.back;
  at("progress").max = items.length;
  at("coder").value = storage("last") ?? "";
  at("begin").addEventListener("submit", (event) => {
    event.preventDefault();
    coder = at("coder").value.trim();
    if (!coder) return;
    storage("last", coder);
    let found = [];
    try {
      found = JSON.parse(storage(`coder ${coder}`)) ?? [];
    } catch { /* It is made anew. */ }
    answers = items.map((item, i) => (optionsOf(item)[found[0]?.[i] - 1] === undefined ? 0 : found[0][i]));
    seconds = items.map((_, i) => Number(found[1]?.[i]) || 0);
    const first = answers.indexOf(0);
    show(first < 0 ? items.length : first);
  });
  at("back").addEventListener("click", () => show(place - 1));
  at("again").addEventListener("click", () => show(items.length - 1));
  at("next").addEventListener("click", () => show(place + 1));
  at("save").addEventListener("click", save);
  document.addEventListener("visibilitychange", () => {
    if (!coder) return;
    pass();
    keep();
  });
  window.addEventListener("beforeunload", (event) => {
    if (!kept && answers.some(Boolean)) event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if (at("task").hidden || event.ctrlKey || event.altKey || event.metaKey) return;
    const buttons = [...at("options").querySelectorAll("button")], now = buttons.indexOf(document.activeElement);
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (step) {
      event.preventDefault();
      buttons[now < 0 ? (step > 0 ? 0 : buttons.length - 1) : (now + step + buttons.length) % buttons.length].focus();
    } else if (event.key === "Backspace") {
      show(place - 1);
    } else if (/^[0-9]$/.test(event.key)) {
      typed = buttons[Number(typed + event.key) - 1] ? typed + event.key : event.key;
      const button = buttons[Number(typed) - 1];
      if (button && buttons.length <= DIGITS) button.click();
      else if (button) button.focus();
    }
  });
})();
