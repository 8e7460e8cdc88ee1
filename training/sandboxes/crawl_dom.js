([x0, y0, width, height]) => {
  // Every widget and every piece of text that can be seen in the given part of the window, with places in CSS pixels.
  const ids = (window.deskhandIds ??= new WeakMap());
  window.deskhandCount ??= 0;
  const key = el => (ids.has(el) || ids.set(el, `e${window.deskhandCount++}`), ids.get(el));
  const flat = text => (text || '').replace(/\s+/g, ' ').trim();
  const skip = '#query, #query *, #reward-display, #reward-display *, #click-canvas, #sync-task-cover, script, style, option';
  const widget = 'input, textarea, select, button, a[href], summary, [role=button], [role=link], [role=tab], ' +
    '[role=switch], [role=checkbox], [role=radio], [role=menuitem], [role=option], [role=slider], [contenteditable=true], ' +
    '.ui-slider-handle';
  const types = {checkbox: 'check', radio: 'radio', range: 'slider', number: 'spin', password: 'password',
    button: 'button', submit: 'button', reset: 'button', image: 'button', color: 'button', file: 'button'};
  const roles = {button: 'button', link: 'link', tab: 'tab', switch: 'switch', checkbox: 'check', radio: 'radio',
    menuitem: 'menu item', option: 'list item', slider: 'slider'};
  const roleOf = el => {
    const said = roles[el.getAttribute('role')];
    if (said) return said;
    if (el.matches('.ui-slider-handle')) return 'slider';
    const tag = el.tagName.toLowerCase();
    if (tag === 'input') return types[el.type] || 'field';
    if (tag === 'a') return 'link';
    return {textarea: 'field', select: 'choice', button: 'button', summary: 'button'}[tag] || 'field';
  };
  const labelOf = el => {
    const label = el.labels && el.labels[0];
    return flat(el.getAttribute('aria-label')) || (label ? flat(label.innerText) : '');
  };
  const nameOf = (el, role) => {
    if (['field', 'password', 'spin', 'choice', 'slider', 'check', 'radio'].includes(role))
      return labelOf(el) || flat(el.placeholder) || flat(el.title);
    return labelOf(el) || flat(el.innerText) || (el.tagName === 'INPUT' ? flat(el.value) : '') || flat(el.title) || flat(el.alt);
  };
  const valueOf = (el, role) => {
    if (role === 'password') return '•'.repeat((el.value || '').length);
    if (role === 'choice' && el.options) return el.selectedIndex < 0 ? '' : flat(el.options[el.selectedIndex].text);
    if (['field', 'spin', 'slider'].includes(role)) return flat(el.value ?? el.innerText);
    return '';
  };
  const onOf = (el, role) => {
    if (el.tagName === 'INPUT' && (role === 'check' || role === 'radio')) return el.checked;
    const said = el.getAttribute('aria-checked') ?? el.getAttribute('aria-selected');
    return said === null || !['check', 'radio', 'switch', 'tab', 'list item'].includes(role) ? null : said === 'true';
  };
  const open = el => { // what lies over an element hides it; what lies in it or around it does not
    const r = el.getBoundingClientRect();
    const x = Math.min(Math.max((r.left + r.right) / 2, x0), x0 + width - 1);
    const y = Math.min(Math.max((r.top + r.bottom) / 2, y0), y0 + height - 1);
    if (x < r.left || x > r.right || y < r.top || y > r.bottom) return false;
    const hit = document.elementFromPoint(x, y);
    return !!hit && (el.contains(hit) || hit.contains(el) || (el.labels && [...el.labels].some(l => l.contains(hit))));
  };
  const shown = el => {
    const css = getComputedStyle(el);
    return css.visibility !== 'hidden' && css.opacity !== '0' && open(el);
  };
  const place = r => [r.left - x0, r.top - y0, r.right - x0, r.bottom - y0];
  const inside = r => r.width && r.height && r.right > x0 && r.bottom > y0 && r.left < x0 + width && r.top < y0 + height;
  const out = [];
  for (const el of document.body.querySelectorAll('*')) {
    if (el.matches(skip) || !inside(el.getBoundingClientRect())) continue;
    if (el.matches(widget)) {
      if (el.type === 'hidden' || el.parentElement.closest(widget) || !shown(el)) continue;
      const role = roleOf(el);
      out.push({role, name: nameOf(el, role), box: place(el.getBoundingClientRect()), value: valueOf(el, role),
        on: onOf(el, role), focused: document.activeElement === el,
        enabled: !el.disabled && el.getAttribute('aria-disabled') !== 'true', key: key(el)});
    } else if (el.matches('img, svg, canvas') && shown(el)) {
      const name = flat(el.getAttribute('alt')) || flat(el.getAttribute('aria-label'));
      out.push({role: 'image', name, box: place(el.getBoundingClientRect()), value: '', on: null, focused: false,
        enabled: true, key: key(el)});
    } else if (!el.closest(widget) && !el.closest('svg')) {
      const tick = el.closest('label') && el.closest('label').control;
      if (tick && ['checkbox', 'radio'].includes(tick.type)) continue;
      const nodes = [...el.childNodes].filter(n => n.nodeType === 3 && n.data.trim());
      if (!nodes.length || !shown(el)) continue;
      const range = document.createRange();
      range.setStartBefore(nodes[0]);
      range.setEndAfter(nodes[nodes.length - 1]);
      const box = range.getBoundingClientRect();
      if (inside(box)) out.push({role: 'text', name: flat(nodes.map(n => n.data).join(' ')), box: place(box), value: '',
        on: null, focused: false, enabled: true, key: key(el)});
    }
  }
  return out;
}
