// Looks at pages of `stoker report` in Debian's headless Chromium: node check.js OUT PAGE...
//
// Chromium is spoken to over two pipes (--remote-debugging-pipe), one JSON a message with a NUL
// behind it, so that Debian's node needs no package. Prints what is wrong, one a line, and exits with
// 1 then; writes OUT/NAME-{light,dark,narrow}.png and OUT/NAME.pdf to be looked at.
'use strict'
const {spawn} = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')

const PAGES_MAX = 5 // of A4
const NARROW = 390
const WIDE = 1000

function openBrowser () {
  const child = spawn('chromium-headless-shell', ['--no-sandbox', '--disable-gpu', '--hide-scrollbars',
    '--remote-debugging-pipe'], {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']})
  const waiting = new Map()
  const listeners = []
  let number = 0
  let text = ''
  child.stdio[4].on('data', (data) => {
    text += data
    for (let end; (end = text.indexOf('\0')) >= 0; text = text.slice(end + 1)) {
      const message = JSON.parse(text.slice(0, end))
      if (message.id !== undefined) {
        const {resolve, reject} = waiting.get(message.id)
        waiting.delete(message.id)
        message.error ? reject(new Error(message.error.message)) : resolve(message.result)
      } else {
        listeners.forEach((listener) => listener(message))
      }
    }
  })
  const send = (method, params = {}, sessionId = undefined) => new Promise((resolve, reject) => {
    waiting.set(++number, {resolve, reject})
    child.stdio[3].write(JSON.stringify({id: number, method, params, sessionId}) + '\0')
  })
  return {child, send, listen: (listener) => listeners.push(listener)}
}

// A page that is loaded: what it asked for and said, and ways to look at it.
async function load (browser, file, options) {
  const {targetId} = await browser.send('Target.createTarget', {url: 'about:blank'})
  const {sessionId} = await browser.send('Target.attachToTarget', {targetId, flatten: true})
  const send = (method, params) => browser.send(method, params, sessionId)
  const page = {requests: [], said: [], send}
  let isLoaded
  const loaded = new Promise((resolve) => { isLoaded = resolve })
  browser.listen((message) => {
    if (message.sessionId !== sessionId) return
    if (message.method === 'Network.requestWillBeSent') page.requests.push(message.params.request.url)
    if (message.method === 'Runtime.consoleAPICalled') page.said.push('console')
    if (message.method === 'Runtime.exceptionThrown') page.said.push(message.params.exceptionDetails.text)
    if (message.method === 'Log.entryAdded') page.said.push(message.params.entry.text)
    if (message.method === 'Page.loadEventFired') isLoaded()
  })
  for (const domain of ['Network', 'Runtime', 'Log', 'Page']) await send(domain + '.enable')
  await send('Emulation.setDeviceMetricsOverride',
    {width: options.width, height: 900, deviceScaleFactor: 1, mobile: false})
  await send('Emulation.setEmulatedMedia',
    {features: [{name: 'prefers-color-scheme', value: options.dark ? 'dark' : 'light'}]})
  if (options.noScript) await send('Emulation.setScriptExecutionDisabled', {value: true})
  await send('Page.navigate', {url: 'file://' + file})
  await loaded
  page.ask = async (expression) => {
    const answer = await send('Runtime.evaluate', {expression, returnByValue: true})
    if (answer.exceptionDetails) throw new Error(answer.exceptionDetails.exception.description)
    return answer.result.value
  }
  page.shoot = async (name) => {
    const {data} = await send('Page.captureScreenshot', {captureBeyondViewport: true})
    fs.writeFileSync(name, Buffer.from(data, 'base64'))
  }
  page.close = () => browser.send('Target.closeTarget', {targetId})
  return page
}

// Texts of charts that lie over each other, and what is beyond the page's edge.
const OVERLAPS = `(() => {
  const wrong = []
  document.querySelectorAll('.fr').forEach((row) => {
    const texts = [...row.querySelectorAll('.nm, .vl, svg text')].filter((e) => e.textContent.trim())
    const boxes = texts.map((e) => {
      const range = document.createRange(); range.selectNodeContents(e); return range.getBoundingClientRect()
    })
    boxes.forEach((a, i) => boxes.forEach((b, j) => {
      if (i < j && a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1) {
        wrong.push('overlap: ' + texts[i].textContent + ' / ' + texts[j].textContent)
      }
    }))
  })
  document.querySelectorAll('p, li, h1, h2, pre, td, th, .nm, .vl, svg text').forEach((e) => {
    const box = e.getBoundingClientRect()
    if (box.width > 0 && (box.right > innerWidth + 1 || box.left < -1)) {
      wrong.push('beyond the edge: ' + e.tagName + ' ' + e.textContent.slice(0, 40))
    }
  })
  if (document.documentElement.scrollWidth > innerWidth) wrong.push('scrolls sideways')
  return wrong
})()`

// Whether each table that sorts does, up and down, by numbers and by texts, and loses no row.
const SORTS = `(() => {
  const wrong = []
  document.querySelectorAll('table.s').forEach((table) => {
    const rows = () => [...table.tBodies[0].rows]
    if (rows().length < 2) return
    ;[...table.tHead.rows[0].cells].forEach((head, i) => {
      const before = rows().map((r) => r.textContent).sort().join()
      for (const way of ['ascending', 'descending']) {
        head.querySelector('button').click()
        if (head.getAttribute('aria-sort') !== way) wrong.push('aria-sort: ' + head.textContent)
        const values = rows().map((r) => r.cells[i].dataset.v).filter((v) => v !== undefined).map(Number)
        const sorted = [...values].sort((a, b) => way === 'ascending' ? a - b : b - a)
        if (values.join() !== sorted.join()) wrong.push('not sorted: ' + head.textContent)
      }
      if (rows().map((r) => r.textContent).sort().join() !== before) wrong.push('rows are lost')
    })
  })
  return wrong
})()`

const TEXT = 'document.body.innerText.replace(/[\\u25b4\\u25be\\s]+/g, " ")'

async function check (browser, file, out) {
  const name = path.join(out, path.basename(file, '.html'))
  const wrong = []
  let whole
  for (const [kind, options] of [['light', {width: WIDE}], ['dark', {width: WIDE, dark: true}],
    ['narrow', {width: NARROW}]]) {
    const page = await load(browser, file, options)
    await page.shoot(`${name}-${kind}.png`)
    wrong.push(...(await page.ask(OVERLAPS)).map((text) => `${kind}: ${text}`))
    if (kind === 'light') {
      whole = await page.ask(TEXT)
      wrong.push(...await page.ask(SORTS))
      const {data} = await page.send('Page.printToPDF', {paperWidth: 8.27, paperHeight: 11.69})
      const pdf = Buffer.from(data, 'base64')
      fs.writeFileSync(name + '.pdf', pdf)
      const pages = (pdf.toString('latin1').match(/\/Type\s*\/Page[^s]/g) || []).length
      if (pages > PAGES_MAX) wrong.push(`${pages} pages of A4, more than ${PAGES_MAX}`)
    }
    if (kind === 'dark') {
      const paper = await page.ask('getComputedStyle(document.documentElement).backgroundColor')
      if (!/^rgb\((\d|[1-4]\d), /.test(paper)) wrong.push('dark: the paper is ' + paper)
    }
    if (page.requests.some((url) => url !== 'file://' + file)) wrong.push(`asks for ${page.requests}`)
    wrong.push(...page.said.map((text) => `says ${text}`))
    await page.close()
  }
  const still = await load(browser, file, {width: WIDE, noScript: true})
  if (await still.ask(TEXT) !== whole) wrong.push('without scripts it says something else')
  await still.close()
  return wrong.map((text) => `${file}: ${text}`)
}

async function main () {
  const [out, ...files] = process.argv.slice(2)
  const browser = openBrowser()
  const wrong = []
  for (const file of files) wrong.push(...await check(browser, path.resolve(file), out))
  await browser.send('Browser.close').catch(() => {})
  browser.child.kill()
  wrong.forEach((line) => console.log(line))
  process.exit(wrong.length > 0 ? 1 : 0)
}

main().catch((error) => { console.error(error); process.exit(1) })
