// Loads the page again when the queue changes, without losing the place. The page works without it.
const update = async () => {
  const answer = await fetch(location.href, { headers: { accept: "text/html" } });
  if (!answer.ok || answer.redirected) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.querySelector("[data-live]");
  const shown = document.querySelector("[data-live]");
  // A form in use stays.
  if (fresh && shown && !shown.contains(document.activeElement)) shown.replaceWith(fresh);
};
if (document.querySelector("[data-live]")) new EventSource("/events").onmessage = update;
