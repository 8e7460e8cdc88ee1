// What a person sees on a page: the words line by line with their colour, and the widgets, with places in CSS pixels.
() => {
  const inView = (r) => r.width > 1 && r.height > 1 && r.left < innerWidth && r.top < innerHeight && r.right > 0 && r.bottom > 0;
  const shown = (e) => { const s = getComputedStyle(e); return s.visibility !== 'hidden' && s.display !== 'none' && e.getClientRects().length > 0; };
  const onTop = (e, r) => {
    const hit = document.elementFromPoint(Math.min(innerWidth - 1, (r.left + r.right) / 2), Math.min(innerHeight - 1, (r.top + r.bottom) / 2));
    return hit !== null && (e === hit || e.contains(hit) || hit.contains(e));
  };
  const widgets = [];
  for (const e of document.querySelectorAll('input, button, textarea, select')) {
    const r = e.getBoundingClientRect();
    if (!shown(e) || !inView(r) || !onTop(e, r)) continue;
    const label = e.closest('label');
    widgets.push({ tag: e.tagName.toLowerCase(), type: e.type || '', value: e.value || '', text: parseInt(getComputedStyle(e).textIndent) < 0 ? '' : (e.innerText || '').trim(),
      label: label ? label.innerText.trim() : '', on: !!e.checked, box: [r.left, r.top, r.right, r.bottom] });
  }
  const words = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!shown(parent) || parent.closest('script, style, option, select, button')) continue;
    for (const match of node.textContent.matchAll(/\S+/g)) {
      const range = document.createRange();
      range.setStart(node, match.index); range.setEnd(node, match.index + match[0].length);
      const r = range.getBoundingClientRect();
      if (inView(r) && onTop(parent, r)) words.push({ text: match[0], colour: getComputedStyle(parent).color, box: [r.left, r.top, r.right, r.bottom] });
    }
  }
  return { words, widgets };
}
