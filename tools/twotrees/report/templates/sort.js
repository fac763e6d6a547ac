// Sorting by a click on a column's button; without scripts the table stays in its order of time.
for (const table of document.querySelectorAll("table.sortable")) {
  table.querySelectorAll("thead th[data-sort]").forEach((head) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    const place = [...head.parentNode.children].indexOf(head);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const body = table.tBodies[0];
      const key = (row) => row.children[place].dataset.key ?? row.children[place].textContent;
      const number = head.dataset.sort === "number";
      const rows = [...body.rows].sort((a, b) =>
        number ? (parseFloat(key(a)) || 0) - (parseFloat(key(b)) || 0) : key(a).localeCompare(key(b)));
      body.append(...(down ? rows.reverse() : rows));
    });
  });
}
