/* What surrounds what is said: the style and the script of a page.
 *
 * Colours are named once and have two values, for light and dark pages; a colour of a chart comes
 * as both (--c, --d), of which the page takes one. The script gives each head of a table a button,
 * so that who has no script has no button that does nothing.
 */
#include "report/html/html_parts.h"

static const char style[] =
    ":root{--paper:#fff;--ink:#1a1c1e;--grey:#5b5f63;--line:#d6d9dc;--soft:#f3f4f5;"
    "--mark:#0072b2;color-scheme:light dark}\n"
    "@media (prefers-color-scheme:dark){:root{--paper:#16181a;--ink:#e7e5e1;--grey:#a5a7a9;"
    "--line:#3b3f43;--soft:#212427;--mark:#58aee6}}\n"
    "*{box-sizing:border-box}\n"
    "html{background:var(--paper);color:var(--ink);-webkit-text-size-adjust:100%;"
    "font:16px/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,\"Noto Sans\",\"DejaVu Sans\","
    "sans-serif}\n"
    "body{max-width:60rem;margin:0 auto;padding:1.2rem 1rem 3rem;overflow-wrap:anywhere}\n"
    "h1{font-size:1.6rem;line-height:1.25;margin:.2rem 0 .9rem}\n"
    "h2{font-size:1.15rem;line-height:1.3;margin:2.2rem 0 .4rem;padding-top:.55rem;"
    "border-top:2px solid var(--ink)}\n"
    "p{margin:.35rem 0 .7rem;max-width:46rem}\n"
    ".answer{border-left:5px solid var(--mark);padding:.1rem 0 .1rem .9rem;margin:0 0 1.1rem}\n"
    ".answer p{font-size:1.17rem;line-height:1.45;margin:.15rem 0 .35rem;max-width:48rem}\n"
    ".answer p+p{font-size:1rem}\n"
    ".of,figcaption,footer{color:var(--grey);font-size:.87rem}\n"
    ".of{margin:.3rem 0}.narrow{display:none}\n"
    ".tw{overflow-x:auto;margin:.3rem 0 .8rem}\n"
    "table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.25rem 1rem .25rem 0;text-align:right;vertical-align:top;white-space:nowrap;"
    "border-bottom:1px solid var(--line);overflow-wrap:normal}\n"
    "th{font-weight:600;vertical-align:bottom;white-space:normal;"
    "border-bottom:1.5px solid var(--ink)}\n"
    "th:last-child,td:last-child{padding-right:0}\n"
    ".l{text-align:left}th.w,td.w{white-space:normal;overflow-wrap:anywhere;"
    "min-width:8rem}\n"
    "th button{all:unset;cursor:pointer;font:inherit}\n"
    "th button:focus-visible{outline:2px solid var(--mark)}\n"
    "th[aria-sort=ascending] button::after{content:\"\\00a0\\25b4\"}\n"
    "th[aria-sort=descending] button::after{content:\"\\00a0\\25be\"}\n"
    "figure{margin:.7rem 0 1.1rem}figcaption{margin:0 0 .4rem;max-width:46rem}\n"
    ".fr{display:grid;grid-template-columns:minmax(6rem,14rem) 1fr 12.5rem;column-gap:.8rem;"
    "align-items:center;font-size:.88rem;line-height:1.25}\n"
    ".fr svg{display:block;width:100%;overflow:visible}\n"
    ".fr text{fill:var(--grey);font-size:12px}\n"
    ".vl{font-variant-numeric:tabular-nums}.vl span{color:var(--grey);margin-left:.4em}\n"
    ".g{stroke:var(--line)}.z{stroke:var(--ink);stroke-dasharray:3 3}\n"
    ".k{stroke:var(--mark);stroke-width:2}.d{fill:var(--mark)}\n"
    ".h{fill:var(--paper);stroke:var(--mark);stroke-width:2}\n"
    ".p{fill:var(--c);stroke:var(--paper);stroke-width:.6}\n"
    ".key{display:flex;flex-wrap:wrap;gap:.1rem .9rem;margin:.2rem 0 .4rem;padding:0;"
    "list-style:none;font-size:.87rem}\n"
    ".key i{display:inline-block;width:.8em;height:.8em;margin-right:.35em;background:var(--c)}\n"
    "@media (prefers-color-scheme:dark){.p{fill:var(--d)}.key i{background:var(--d)}}\n"
    "pre{background:var(--soft);padding:.6rem .8rem;margin:.4rem 0 .9rem;white-space:pre-wrap;"
    "font:.8rem/1.45 ui-monospace,\"DejaVu Sans Mono\",Menlo,Consolas,monospace}\n"
    "summary{cursor:pointer;margin:.4rem 0}\n"
    "ul{padding-left:1.2rem;margin:.3rem 0 .7rem;max-width:46rem}li{margin:.15rem 0}\n"
    ".key li{margin:0}\n"
    "footer{border-top:1px solid var(--line);margin-top:2.5rem;padding-top:.6rem}\n"
    "@media (max-width:640px){html{font-size:15px}h1{font-size:1.35rem}.o{display:none}"
    ".narrow{display:block}.fr{grid-template-columns:1fr auto;margin-top:.3rem}"
    ".fr svg{grid-column:1/3;grid-row:2}.fr.ax .nm,.fr.ax .vl{display:none}"
    "table{font-size:.82rem;width:100%}th,td{padding-right:.5rem;white-space:normal}"
    "td.l{overflow-wrap:anywhere}td.w{min-width:4.5rem}th.w{min-width:2.8rem}}\n"
    "@media print{:root{--paper:#fff;--ink:#000;--grey:#444;--line:#ccc;--soft:#f3f4f5;"
    "--mark:#0072b2}.p{fill:var(--c)}.key i{background:var(--c)}html{font-size:9.5pt}"
    "body{max-width:none;padding:0}h2{break-after:avoid;margin-top:1.3rem}"
    "figure,tr,.answer{break-inside:avoid}pre{font-size:7.5pt}.o{display:table-cell}"
    ".narrow{display:none}p,ul{max-width:none}"
    "th button::after{display:none}*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}\n";

static const char script[] =
    "document.querySelectorAll('table.s').forEach(function(t){\n"
    "var heads=[].slice.call(t.tHead.rows[0].cells),body=t.tBodies[0];\n"
    "if(body.rows.length<2)return;\n"
    "function key(row,i){var c=row.cells[i],v=c.dataset.v;\n"
    "return v!==undefined?+v:c.textContent==='-'||c.textContent===''?null:c.textContent}\n"
    "function order(a,b){return typeof a==='number'&&typeof b==='number'?a-b:\n"
    "String(a).localeCompare(String(b),undefined,{numeric:true})}\n"
    "heads.forEach(function(th,i){\n"
    "var b=document.createElement('button');b.type='button';b.textContent=th.textContent;\n"
    "th.textContent='';th.appendChild(b);\n"
    "b.onclick=function(){\n"
    "var up=th.getAttribute('aria-sort')!=='ascending';\n"
    "heads.forEach(function(h){h.removeAttribute('aria-sort')});\n"
    "th.setAttribute('aria-sort',up?'ascending':'descending');\n"
    "[].slice.call(body.rows).sort(function(p,q){var x=key(p,i),y=key(q,i);\n"
    "if(x===null||y===null)return x===y?0:x===null?1:-1;\n"
    "return up?order(x,y):order(y,x)}).forEach(function(r){body.appendChild(r)})}})});\n";

void html_begin(struct arena *arena, const char *title, FILE *out)
{
    fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>",
          out);
    html_line(arena, title, out);
    fprintf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n", style);
}

void html_end(FILE *out)
{
    fprintf(out, "<script>\n%s</script>\n</body>\n</html>\n", script);
}
