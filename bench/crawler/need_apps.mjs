// Compiles the applications of `need_pages.py` that need a compiler: node need_apps.mjs PACKAGES OUTPUT
import { createRequire } from 'node:module'
import fs from 'node:fs'
import path from 'node:path'

const [packages, output] = process.argv.slice(2).map(each => path.resolve(each))
const require = createRequire(packages + '/')
const { build } = require('esbuild')
const { compile } = require('svelte/compiler')
const source = path.join(packages, 'sources')
fs.mkdirSync(source, { recursive: true })

const SVELTE = `<script>export let title; export let paragraphs; export let links</script>
<h1>{title}</h1>{#each paragraphs as p}<p>{p}</p>{/each}
<ul>{#each links as l}<li><a href={l}>{l}</a></li>{/each}</ul>`
const CODES = {
  'App.js': compile(SVELTE, { generate: 'dom' }).js.code,
  'svelte.js': `import App from './App.js'
window.mountApp = (target, props) => new App({ target, props })`,
  'solid.js': `import html from 'solid-js/html'
import { render } from 'solid-js/web'
const view = d => () => html\`<div><h1>\${d.title}</h1>\${d.paragraphs.map(p => html\`<p>\${p}</p>\`)}
<ul>\${d.links.map(l => html\`<li><a href=\${l}>\${l}</a></li>\`)}</ul></div>\`
window.mountApp = (el, d) => render(view(d), el)`,
  'lit.js': `import { html, LitElement } from 'lit'
customElements.define('page-view', class extends LitElement {
  static properties = { d: {} }
  render() {
    const d = this.d
    return d ? html\`<h1>\${d.title}</h1>\${d.paragraphs.map(p => html\`<p>\${p}</p>\`)}
<ul>\${d.links.map(l => html\`<li><a href=\${l}>\${l}</a></li>\`)}</ul>\` : ''
  }
})
window.mountApp = (el, d) => { el.d = d }`,
  'angular.js': `import 'zone.js'
import '@angular/compiler'
import { Component } from '@angular/core'
import { NgFor } from '@angular/common'
import { bootstrapApplication } from '@angular/platform-browser'
const template = '<h1>{{title}}</h1><p *ngFor="let p of paragraphs">{{p}}</p>' +
  '<ul><li *ngFor="let l of links"><a [href]="l">{{l}}</a></li></ul>'
window.mountApp = (el, d) => {
  const App = Component({ selector: 'app-root', standalone: true, imports: [NgFor], template })(
    class { constructor() { Object.assign(this, d) } })
  bootstrapApplication(App)
}`
}
for (const [name, code] of Object.entries(CODES)) fs.writeFileSync(path.join(source, name), code)
for (const name of ['svelte', 'solid', 'lit', 'angular']) {
  await build({
    entryPoints: [path.join(source, name + '.js')], outfile: path.join(output, name + '.js'),
    bundle: true, minify: true, format: 'iife', keepNames: name === 'angular', logLevel: 'error'
  })
}
