// A page whose code comes in a file of its own, and draws what it shows.
import { useEffect, useRef } from "react";

export default function About({ Frame }) {
  const canvas = useRef(null);
  useEffect(() => {
    const pen = canvas.current.getContext("2d");
    for (let n = 0; n < 40; n++) {
      pen.fillStyle = `hsl(${n * 9} 70% 50%)`;
      pen.fillRect(n * 10, 120 - ((n * 37) % 120), 9, 120);
    }
  }, []);
  return <Frame title="About"><canvas ref={canvas} width="400" height="120" /><p>A shop without goods.</p></Frame>;
}
