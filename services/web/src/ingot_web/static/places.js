// Places on a page for which no element has an id: several lines (#L5-L9), a line of changes (#diff-…R7), and a comment
// or a review on another page of its timeline. Links to another look at the same file lead to the same lines.
"use strict";

function findPlace() {
  for (const link of document.querySelectorAll("a[data-keeps-line]")) link.hash = /^#L\d/.test(location.hash) ? location.hash : "";
  for (const line of document.querySelectorAll(".marked")) line.classList.remove("marked");
  const place = location.hash.slice(1);
  const element = document.getElementById(place);
  if (!place || (element && !element.matches(".other-pages a"))) return;
  const lines = /^L(\d{1,6})-L?(\d{1,6})$/.exec(place);
  if (lines) {
    const [first, last] = [Number(lines[1]), Number(lines[2])].sort((a, b) => a - b);
    for (let number = first; number <= last; number++) {
      const line = document.getElementById(`L${number}`);
      if (!line) break;
      line.classList.add("marked");
    }
    document.getElementById(`L${first}`)?.scrollIntoView();
    return;
  }
  const file = /^(diff-[0-9a-f]{40})[LR]\d+$/.exec(place);
  if (file) {
    document.getElementById(file[1])?.scrollIntoView();
    return;
  }
  const said = /^(issuecomment|pullrequestreview|pullrequestreviewcomment)-(\d+)$/.exec(place);
  const issue = /^(.*)\/(?:issues|pulls)\/\d+$/.exec(location.pathname);
  // Whoever was sent here by that page already: it is gone.
  const [visit] = performance.getEntriesByType("navigation");
  if (said && issue && !visit?.redirectCount) {
    const address = {
      issuecomment: `${issue[1]}/issues/comments/${said[2]}`,
      pullrequestreview: `${issue[0]}/reviews/${said[2]}`,
      pullrequestreviewcomment: `${issue[1]}/pulls/comments/${said[2]}`,
    }[said[1]];
    fetch(address, { method: "HEAD" }).then(answer => { if (answer.ok) location.replace(address); });
  }
}

// Shift and a click on the number of a line mark all lines from the one that the address names.
document.addEventListener("click", event => {
  const line = event.shiftKey && /^#L(\d+)$/.exec(event.target.closest?.(".code .number a")?.getAttribute("href") ?? "");
  const first = /^#L(\d+)/.exec(location.hash);
  if (!line || !first) return;
  event.preventDefault();
  const [from, to] = [Number(first[1]), Number(line[1])].sort((a, b) => a - b);
  location.hash = `#L${from}-L${to}`;
});

addEventListener("hashchange", findPlace);
findPlace();
