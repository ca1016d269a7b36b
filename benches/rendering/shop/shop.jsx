// A shop by React and React Router: everything that a page shows is fetched by its script. Pages: a start page, one
// page per category, one per product, and one whose code is loaded when it is needed.
import { lazy, StrictMode, Suspense, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { BrowserRouter, Link, Route, Routes, useParams, useSearchParams } from "react-router-dom";

const About = lazy(() => import("./about.jsx"));

// the server answers only to requests with this field
const get = (url, options) =>
  fetch(url, { headers: { "X-Shop-Client": "7" }, ...options }).then((response) => {
    if (!response.ok) throw new Error(`${url}: ${response.status}`);
    return response.json();
  });

function useData(url, options) {
  const [state, setState] = useState({});
  useEffect(() => {
    let isOver = false;
    setState({});
    get(url, options).then((data) => isOver || setState({ data }), (error) => isOver || setState({ error }));
    return () => { isOver = true; };
  }, [url]);
  return state;
}

function Frame({ title, children }) {
  useEffect(() => { document.title = `${title} - Shop`; }, [title]);
  // as applications do that want no cache: each request has a URL of its own
  const [now] = useState(() => Date.now());
  const { data } = useData(`/api/notice?_=${now}`);
  return (
    <>
      <header><Link to="/">Shop</Link><Link to="/about">About</Link><em>{data?.text}</em></header>
      <main><h1>{title}</h1>{children}</main>
    </>
  );
}

function Start() {
  const { data } = useData("/api/categories");
  if (!data) return <p>Loading</p>;
  return (
    <Frame title="All categories">
      <ol className="hero">{data.map(({ number, name }) => (
        <li key={number}><Link to={`/category/${number}`}>{name}</Link></li>
      ))}</ol>
    </Frame>
  );
}

function Category() {
  const { number } = useParams();
  const page = useSearchParams()[0].get("page") ?? "1";
  const { data } = useData(`/api/category/${number}?${new URLSearchParams({ page, sort: "name,price" })}`);
  if (!data) return <p>Loading</p>;
  return (
    <Frame title={`${data.name}, page ${page}`}>
      <ul className="cards">{data.products.map(({ number, name, image }) => (
        <li key={number}><Link to={`/product/${number}`}><img src={image} width="96" height="64" />{name}</Link></li>
      ))}</ul>
      {data.next && <Link to={`/category/${number}?page=${data.next}`}>More of it</Link>}
    </Frame>
  );
}

// opinions come from another origin, which wants a field of its own: the browser asks it for leave first (a preflight)
const asReader = { headers: { "X-Reader": "shop" } };

function Product() {
  const { number } = useParams();
  const { data, error } = useData(`/api/product/${number}`);
  const opinion = useData(`${window.SHOP_OTHER}/opinions/${number}.json`, asReader);
  if (error) return <Frame title="No such product" />;
  if (!data) return <p>Loading</p>;
  return (
    <Frame title={data.name}>
      <figure>
        <img srcSet={`${data.image} 1x, ${data.large} 2x`} src={data.image} width="192" height="128" />
        <figcaption>{data.price}</figcaption>
      </figure>
      {data.text.map((text, n) => <p key={n}>{text}</p>)}
      <blockquote>{opinion.data ? opinion.data.text : "No opinions yet"}</blockquote>
      <ul>{data.related.map((to) => <li key={to}><Link to={`/product/${to}`}>Product {to}</Link></li>)}</ul>
    </Frame>
  );
}

createRoot(document.getElementById("root")).render(
  <StrictMode>
    <BrowserRouter>
      <Suspense fallback={<p>Loading</p>}>
        <Routes>
          <Route path="/" element={<Start />} />
          <Route path="/about" element={<About Frame={Frame} />} />
          <Route path="/category/:number" element={<Category />} />
          <Route path="/product/:number" element={<Product />} />
          <Route path="*" element={<Frame title="Nothing here" />} />
        </Routes>
      </Suspense>
    </BrowserRouter>
  </StrictMode>,
);
