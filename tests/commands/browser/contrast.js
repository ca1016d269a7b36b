// The contrast of every text that is seen, and of every mark of a chart, by WCAG 2.2: what is below AA.
(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  // the canvas knows every notation of a colour
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
  const background = (element) => {
    if (!element)
      return rgba(getComputedStyle(document.documentElement).colorScheme.startsWith("dark") ? "#000" : "#fff");
    const own = rgba(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own : over(own, background(element.parentElement));
  };
  const luminance = (color) => {
    const [r, g, b] = color.map((part) =>
      part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4,
    );
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  const opacity = (element) =>
    element ? Number(getComputedStyle(element).opacity) * opacity(element.parentElement) : 1;
  const bad = [];
  let looked = 0;
  const check = (element, color, least, what) => {
    const below = background(element.closest("svg")?.parentElement ?? element);
    const seen = rgba(color);
    seen[3] *= opacity(element);
    const ratio = contrast(over(seen, below), below);
    looked += 1;
    if (ratio < least) bad.push(`${what}: ${ratio.toFixed(2)} of ${least}, ${color} on ${below}`);
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    const text = texts.currentNode.data.trim();
    if (
      !text ||
      !element.checkVisibility({ visibilityProperty: true }) ||
      element.closest("noscript, script, :disabled")
    )
      continue;
    const style = getComputedStyle(element);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    check(element, element.closest("svg") ? style.fill : style.color, isLarge ? 3 : 4.5, `"${text.slice(0, 40)}"`);
  }
  for (const mark of document.querySelectorAll(".swatch, .bar-part, h1")) {
    if (!mark.checkVisibility()) continue;
    const style = mark.matches("h1") ? getComputedStyle(mark, "::before") : getComputedStyle(mark);
    if (mark.matches("h1") && style.content === "none") continue;
    check(mark.parentElement, style.backgroundColor, 3, `mark ${mark.className}`);
  }
  for (const line of document.querySelectorAll(".plot path")) {
    const { stroke, fill } = getComputedStyle(line);
    check(line, stroke === "none" ? fill : stroke, 3, `line ${line.getAttribute("class")}`);
  }
  for (const field of document.querySelectorAll("input, textarea, button")) {
    const style = getComputedStyle(field);
    if (!field.checkVisibility() || field.disabled || parseFloat(style.borderTopWidth) === 0) continue;
    check(field.parentElement, style.borderTopColor, 3, `edge of ${field.id || field.textContent}`);
  }
  return { looked, bad };
})();
