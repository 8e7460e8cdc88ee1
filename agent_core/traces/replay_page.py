"""The fixed parts of the replay page: its style and its script. No text of a run is in here."""

STYLE = """
:root { color-scheme: light dark;
  --back:#FAFAF8; --card:#FFFFFF; --text:#1F2328; --second:#646A73; --line:#E3E3DF; --accent:#2F6FEB;
  --allowed:#1A7F4B; --asking:#9A6700; --refused:#C5362B; }
@media (prefers-color-scheme: dark) { :root {
  --back:#1E1F22; --card:#2A2B2F; --text:#E6E6E6; --second:#A2A7B0; --line:#3A3B40; --accent:#6AA0FF;
  --allowed:#4CC38A; --asking:#E2B341; --refused:#FF7B72; } }
* { box-sizing:border-box; }
body { margin:0; background:var(--back); color:var(--text); font:13px/1.5 system-ui,"Segoe UI","Noto Sans",sans-serif;
  display:flex; flex-direction:column; min-height:100vh; }
header { padding:16px 24px 12px; border-bottom:1px solid var(--line); background:var(--card); }
h1 { font-size:19px; line-height:1.35; font-weight:600; margin:0; max-width:80ch; overflow-wrap:anywhere; }
header p { margin:4px 0 0; color:var(--second); font-size:12px; overflow-wrap:anywhere; }
header .ending { color:var(--text); font-size:13px; margin-top:6px; max-width:100ch; }
h2 { font-size:15px; line-height:1.4; font-weight:600; margin:0; overflow-wrap:anywhere; }
h3 { font-size:12px; font-weight:400; color:var(--second); margin:0 0 2px; }
main { flex:1; padding:16px 24px; min-height:0; }
body.one { height:100vh; overflow:hidden; } .one main { overflow:auto; }
.slide { display:grid; grid-template-columns:minmax(0,1fr) 336px; gap:16px; align-items:start; margin-bottom:24px; }
.one .slide { display:none; margin:0; } .one .slide.now { display:grid; }
.shot { position:relative; } .shot > svg { display:block; width:100%; height:auto;
  border:1px solid var(--line); border-radius:8px; background:var(--card); }
.one .shot > svg { max-height:calc(100vh - 312px); width:auto; max-width:100%; margin:0 auto; }
.shot .late { display:none; } .after .shot.has-after .late { display:block; }
.after .shot.has-after .early { display:none; }
.shot figcaption { color:var(--second); font-size:12px; margin-top:6px; text-align:center; overflow-wrap:anywhere; }
figure { margin:0; }
.mark { fill:none; vector-effect:non-scaling-stroke; } .halo { stroke:#fff; stroke-width:7; }
.ink { stroke:#2F6FEB; stroke-width:3; } .box { stroke:#2F6FEB; stroke-width:1.5; stroke-dasharray:5 4; }
.under { stroke:#fff; stroke-width:3; stroke-dasharray:none; }
.dot { fill:#2F6FEB; stroke:#fff; stroke-width:1.5; vector-effect:non-scaling-stroke; }
.pulse { transform-box:fill-box; transform-origin:center; animation:pulse 1.8s ease-out infinite; }
@keyframes pulse { from { transform:scale(1); opacity:.9 } to { transform:scale(2); opacity:0 } }
@media (prefers-reduced-motion: reduce) { .pulse { animation:none } }
.panel { background:var(--card); border:1px solid var(--line); border-radius:8px; }
.panel > * { padding:12px 16px; } .panel > * + * { border-top:1px solid var(--line); }
.panel p { margin:0; overflow-wrap:anywhere; white-space:pre-wrap; }
.count { color:var(--second); font-size:12px; } .quiet { color:var(--second); }
.word { font-weight:600; } .allow { color:var(--allowed); } .deny { color:var(--refused); }
.ask { color:var(--asking); }
.said { font:12px/1.5 ui-monospace,"Cascadia Mono","DejaVu Sans Mono",monospace; max-height:9.5em; overflow:auto; }
.bar { display:flex; gap:2px; height:8px; border-radius:4px; overflow:hidden; margin:4px 0 8px;
  background:var(--line); }
.bar i { display:block; min-width:2px; }
.keys { display:flex; flex-wrap:wrap; gap:2px 12px; font-size:12px; color:var(--second); }
.keys b { display:inline-block; width:8px; height:8px; border-radius:2px; margin-right:5px; }
.capture { background:#8A93A0; } .read { background:#2C9C8F; } .think { background:var(--accent); }
.person { background:var(--asking); } .act { background:var(--allowed); }
details summary { cursor:pointer; color:var(--second); } details h3 { margin-top:8px; }
pre { margin:4px 0 0; font:12px/1.5 ui-monospace,"Cascadia Mono","DejaVu Sans Mono",monospace; white-space:pre-wrap;
  overflow-wrap:anywhere; max-height:16em; overflow:auto; }
footer { position:sticky; bottom:0; background:var(--card); border-top:1px solid var(--line); padding:8px 24px 10px; }
.strip { display:flex; gap:8px; overflow-x:auto; padding:4px; scrollbar-width:thin; }
.strip a { flex:none; width:112px; padding:3px; border:1px solid var(--line); border-radius:8px; color:var(--second);
  text-decoration:none; font-size:12px; background:var(--back); }
.strip a span { display:block; white-space:nowrap; overflow:hidden; text-overflow:ellipsis; padding:1px 3px 0; }
.strip svg { display:block; width:100%; height:60px; border-radius:5px; }
.strip a.now { border-color:var(--accent); box-shadow:0 0 0 1px var(--accent); color:var(--text); }
.strip a:focus-visible, button:focus-visible, summary:focus-visible {
  outline:2px solid var(--accent); outline-offset:2px; }
.tools { display:none; align-items:center; gap:8px; padding:2px 4px 4px; color:var(--second); font-size:12px; }
.one .tools { display:flex; } .tools span { margin-left:auto; }
button { font:inherit; color:var(--text); background:var(--back); border:1px solid var(--line); border-radius:6px;
  padding:3px 12px; cursor:pointer; } button[aria-pressed=true] { border-color:var(--accent); color:var(--accent); }
button:disabled { opacity:.45; cursor:default; }
kbd { font:inherit; border:1px solid var(--line); border-radius:4px; padding:0 5px; background:var(--back); }
.empty { text-align:center; color:var(--second); padding:64px 0; }
@media (max-width: 860px) { .slide { grid-template-columns:minmax(0,1fr); } .one .shot > svg { max-height:none; }
  body.one { height:auto; overflow:visible; } .one main { overflow:visible; }
  main, header, footer { padding-left:16px; padding-right:16px; } .tools span { display:none; } }
@media print { footer { display:none } .one .slide { display:grid; break-inside:avoid; margin-bottom:24px } }
"""

SCRIPT = """
(() => {
  const slides = [...document.querySelectorAll('.slide')], thumbs = [...document.querySelectorAll('.strip a')];
  if (!slides.length) return;
  const [back, next, after] = ['back', 'next', 'after'].map(id => document.getElementById(id));
  let at = 0;
  const show = (n, quiet) => {
    at = Math.max(0, Math.min(slides.length - 1, n));
    slides.forEach((s, i) => s.classList.toggle('now', i === at));
    thumbs.forEach((t, i) => {
      t.classList.toggle('now', i === at);
      t.setAttribute('aria-current', i === at ? 'step' : 'false');
    });
    flip(false);
    after.disabled = !slides[at].querySelector('.has-after');
    back.disabled = at === 0; next.disabled = at === slides.length - 1;
    thumbs[at].scrollIntoView({block: 'nearest', inline: 'center'});
    if (!quiet) history.replaceState(null, '', '#' + slides[at].id);
  };
  const flip = on => { document.body.classList.toggle('after', on); after.setAttribute('aria-pressed', on); };
  const flipped = () => document.body.classList.contains('after');
  const keys = {
    ArrowRight: () => show(at + 1), ArrowLeft: () => show(at - 1), Home: () => show(0),
    End: () => show(slides.length - 1), a: () => after.disabled || flip(!flipped()),
  };
  addEventListener('keydown', e => {
    if (e.ctrlKey || e.metaKey || e.altKey || !keys[e.key]) return;
    e.preventDefault(); keys[e.key]();
  });
  thumbs.forEach((t, i) => t.addEventListener('click', e => { e.preventDefault(); show(i); }));
  back.addEventListener('click', () => show(at - 1));
  next.addEventListener('click', () => show(at + 1));
  after.addEventListener('click', () => flip(!flipped()));
  const named = () => slides.findIndex(s => '#' + s.id === location.hash);
  addEventListener('hashchange', () => { if (named() >= 0) show(named(), true); });
  document.body.classList.add('one');
  show(Math.max(0, named()), true);
})();
"""
