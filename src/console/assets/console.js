const phrase = document.getElementById("phrase");
const events = new EventSource("/api/events");
events.addEventListener("state", (event) => {
  const state = JSON.parse(event.data);
  phrase.textContent = `${state.dir}: ${state.bottleneck.phrase}`;
});
events.addEventListener("end", () => {
  events.close();
  phrase.textContent = "The crawl has ended.";
});
