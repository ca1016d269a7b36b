// A shop of `/item/N` by React, with a router of its own: a list in pages of ten, an item by fetch, links everywhere.
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";

const go = (event) => {
  event.preventDefault();
  history.pushState({}, "", event.currentTarget.href);
  dispatchEvent(new PopStateEvent("popstate"));
};
const Link = ({ to, children }) => <a href={to} onClick={go}>{children}</a>;

function Item({ number }) {
  const [item, setItem] = useState(null);
  useEffect(() => {
    fetch(`/api/item/${number}`).then((r) => r.json()).then(setItem);
  }, [number]);
  if (!item) return <p>Loading</p>;
  return (
    <article>
      <h1>{item.name}</h1>
      <p>{item.text}</p>
      <ul>{item.related.map((n) => <li key={n}><Link to={`/item/${n}`}>Item {n}</Link></li>)}</ul>
      <Link to="/">All items</Link>
    </article>
  );
}

function List() {
  const [items, setItems] = useState([]);
  const more = () =>
    fetch(`/api/items?from=${items.length}`).then((r) => r.json()).then((next) => setItems([...items, ...next]));
  useEffect(() => void more(), []);
  return (
    <main>
      <h1>Items</h1>
      <ul>{items.map((n) => <li key={n}><Link to={`/item/${n}`}>Item {n}</Link></li>)}</ul>
      <button id="more" onClick={more}>More</button>
    </main>
  );
}

function App() {
  const [path, setPath] = useState(location.pathname);
  useEffect(() => {
    const moved = () => setPath(location.pathname);
    addEventListener("popstate", moved);
    return () => removeEventListener("popstate", moved);
  }, []);
  useEffect(() => void (document.title = path), [path]);
  const item = /^\/item\/(\d+)$/.exec(path);
  return item ? <Item number={item[1]} /> : <List />;
}

createRoot(document.getElementById("root")).render(<App />);
