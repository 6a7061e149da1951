package server

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/web"
)

// policy lets a page load what this server serves and nothing else: no inline
// script or style, nothing from elsewhere, no text that becomes markup.
const policy = "default-src 'self'; base-uri 'self'; object-src 'none'; frame-ancestors 'none'; form-action 'self'; img-src 'self' data: blob:; require-trusted-types-for 'script'"

// asset is one file of the pages.
type asset struct {
	kind, tag  string // media type, ETag
	body, gzip []byte // gzip is nil where it does not help
}

// assets are the files of the pages, and the text of the page itself.
var assets = sync.OnceValues(func() (map[string]asset, string) {
	files := map[string]asset{}
	whole := sha256.New()
	for name, body := range dist() {
		sum := sha256.Sum256(body)
		whole.Write(sum[:])
		a := asset{kind: mime.TypeByExtension(path.Ext(name)), tag: `"` + hex.EncodeToString(sum[:8]) + `"`, body: body}
		if a.kind == "" {
			a.kind = mediaTypes[path.Ext(name)]
		}
		if !strings.HasSuffix(name, ".woff2") {
			a.gzip = zipped(body)
		}
		files[name] = a
	}
	return files, strings.ReplaceAll(string(files["index.html"].body), "{{version}}", hex.EncodeToString(whole.Sum(nil)[:6]))
})

// mediaTypes are the types of files that a machine may not know.
var mediaTypes = map[string]string{".woff2": "font/woff2", ".svg": "image/svg+xml", ".webmanifest": "application/manifest+json", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".txt": "text/plain; charset=utf-8"}

// dist yields every file of the pages in the order of their names.
func dist() func(yield func(string, []byte) bool) {
	return func(yield func(string, []byte) bool) {
		entries, err := fs.ReadDir(web.Dist, "dist")
		if err != nil {
			return
		}
		slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
		for _, e := range entries {
			if body, err := fs.ReadFile(web.Dist, "dist/"+e.Name()); err == nil && !yield(e.Name(), body) {
				return
			}
		}
	}
}

func zipped(body []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil
	}
	if _, err := w.Write(body); err != nil || w.Close() != nil || b.Len() >= len(body) {
		return nil
	}
	return b.Bytes()
}

func (s *Server) pages() {
	s.mux.HandleFunc("GET /ui", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "ui/", http.StatusFound) })
	s.mux.HandleFunc("GET "+access.PagesAt, servePage)
}

func servePage(w http.ResponseWriter, r *http.Request) {
	files, page := assets()
	name := strings.TrimPrefix(r.URL.Path, access.PagesAt)
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-cache")
	a, ok := files[name]
	if !ok || name == "index.html" {
		// The way back to the folder is the same whatever proxies have put
		// before the path, so nobody has to say where the pages are.
		base := strings.Repeat("../", strings.Count(name, "/"))
		if base == "" {
			base = "./"
		}
		body := []byte(strings.ReplaceAll(page, "{{base}}", base))
		sum := sha256.Sum256(body)
		a = asset{kind: "text/html; charset=utf-8", tag: `"` + hex.EncodeToString(sum[:8]) + `"`, body: body}
	} else if r.URL.Query().Get("v") != "" {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	h.Set("Content-Type", a.kind)
	h.Set("ETag", a.tag)
	h.Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("If-None-Match"), a.tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := a.body
	if a.gzip != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = a.gzip
	}
	_, _ = w.Write(body) // the browser may have gone
}
