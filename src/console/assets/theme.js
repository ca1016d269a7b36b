// The colour scheme: that of the system, unless the switch says otherwise. It is no module and runs before the first
// paint, so that the page never flashes in the other scheme.
(() => {
  const KEY = "crawler-theme";
  const CHOICES = ["auto", "light", "dark"];

  // storage can be forbidden: the switch then lasts as long as the page
  const stored = () => {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null;
    }
  };

  let choice = CHOICES.includes(stored()) ? stored() : "auto";
  document.documentElement.dataset.theme = choice;

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const label = () => {
      button.textContent = `Theme: ${choice}`;
      button.setAttribute("aria-label", `Theme: ${choice}. Change`);
    };
    button.addEventListener("click", () => {
      choice = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length];
      document.documentElement.dataset.theme = choice;
      try {
        localStorage.setItem(KEY, choice);
      } catch {
        // see above
      }
      label();
    });
    label();
  });
})();
