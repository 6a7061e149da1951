package admission

import (
	"slices"
	"strings"
	"unicode"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
)

// hidden reports whether a character is for machines, or changes how others are read.
func hidden(c rune) bool {
	return unicode.IsControl(c) || unicode.Is(unicode.Cf, c) || c == '\u2028' || c == '\u2029'
}

// Full is an image as registries know it: docker.io is named, and a tag.
func Full(image string) string {
	image = strings.TrimSpace(image)
	name, digest, pinned := strings.Cut(image, "@")
	host, rest, deep := strings.Cut(name, "/")
	switch {
	case !deep:
		name = "docker.io/library/" + name
	case host == "index.docker.io":
		name = "docker.io/" + rest
	case !strings.ContainsAny(host, ".:") && host != "localhost":
		name = "docker.io/" + name
	}
	if strings.HasPrefix(name, "docker.io/") && strings.Count(name, "/") == 1 {
		name = "docker.io/library/" + strings.TrimPrefix(name, "docker.io/")
	}
	if pinned {
		return name + "@" + digest
	}
	if i := strings.LastIndexByte(name, ':'); i <= strings.LastIndexByte(name, '/') {
		name += ":latest"
	}
	return name
}

// split is the repository of a full image, and its digest where it has one.
func split(full string) (repository, digest string) {
	name, digest, _ := strings.Cut(full, "@")
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		name = name[:i]
	}
	return name, digest
}

// Keys are the names under which an image may have been looked at before.
func Keys(image string) []string {
	full := Full(image)
	repository, digest := split(full)
	if digest != "" { // whoever looked at that has looked at this, wherever it lies
		return []string{digest, repository}
	}
	return []string{full, repository}
}

// Key is the name under which an approval of an image is remembered; empty: it is not.
func (r *Rule) Key(image string) string {
	full := Full(image)
	repository, digest := split(full)
	switch {
	case r.Remember == ByRepository:
		return repository
	case digest != "":
		return digest
	case r.Remember == ByDigest:
		return ""
	}
	return full
}

// ImagesOf are the images that a document runs or builds upon, each once.
func ImagesOf(d *spec.Document) (out []string) {
	add := func(image string) {
		if image != "" && !slices.Contains(out, image) {
			out = append(out, image)
		}
	}
	add(d.Image)
	if d.Master != nil {
		add(d.Master.Image)
	}
	if d.Build != nil {
		add(d.Build.Base)
	}
	return out
}

// Unseen are the images of a document that have to be looked at first.
func (r *Rule) Unseen(d *spec.Document, reviewed func(key string) bool) (out []string) {
	for _, image := range ImagesOf(d) {
		full := Full(image)
		if len(r.Images) > 0 && !matchesAny(r.Images, full) || matchesAny(r.Trusted, full) {
			continue
		}
		if !slices.ContainsFunc(Keys(image), reviewed) {
			out = append(out, image)
		}
	}
	return out
}

// Remembered are the names to remember once a check about images was approved.
func (r *Rule) Remembered(c *core.CheckState) (out []string) {
	for _, image := range c.Images {
		if key := r.Key(image); key != "" && !slices.Contains(out, key) {
			out = append(out, key)
		}
	}
	return out
}

func matchesAny(patterns []string, full string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return Matches(p, full) })
}

// Matches reports whether a full image is one of a pattern, in which * is any text. A
// pattern without * is an image, or a repository whose every image it is.
func Matches(pattern, full string) bool {
	if !strings.Contains(pattern, "*") {
		repository, _ := split(full)
		named := Full(pattern)
		if bare, digest := split(named); digest == "" && !tagged(pattern) {
			return repository == bare
		}
		return named == full
	}
	parts := strings.Split(pattern, "*")
	if !strings.HasPrefix(full, parts[0]) {
		return false
	}
	rest := full[len(parts[0]):]
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, p)
		if i < 0 {
			return false
		}
		rest = rest[i+len(p):]
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}

// tagged reports whether an image is written with a tag.
func tagged(image string) bool {
	return strings.LastIndexByte(image, ':') > strings.LastIndexByte(image, '/')
}
