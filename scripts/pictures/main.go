// Command pictures writes the pictures of the documents: it takes those of three
// screens that make shots has left in bin/shots, and makes them small.
package main

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
)

// shown are the screens, and what their pictures are called in docs/pictures.
var shown = map[string]string{"overview-light-1280": "overview", "workload-curves-light-1280": "workload", "map-light-1280": "map"}

// colors is how many a picture keeps. Pages have few, and shades of letters.
const colors = 64

func main() {
	for from, to := range shown {
		if err := shrink(filepath.Join("bin", "shots", from+".png"), filepath.Join("docs", "pictures", to+".png")); err != nil {
			fmt.Fprintf(os.Stderr, "%v; make shots takes the pictures\n", err)
			os.Exit(1)
		}
	}
}

func shrink(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	full, err := png.Decode(in)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(out, reduce(full)); err != nil {
		return fmt.Errorf("%s: %w", to, err)
	}
	return out.Close()
}

// reduce is a picture with few colours, each the nearest of a palette. Nothing is
// dithered: areas of one colour stay so.
func reduce(full image.Image) image.Image {
	b := full.Bounds()
	seen := map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(full.At(x, y)).(color.RGBA) }
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			seen[at(x, y)]++
		}
	}
	p := palette(seen)
	small := image.NewPaletted(b, p)
	nearest := map[color.RGBA]uint8{}
	for c := range seen {
		nearest[c] = uint8(p.Index(c)) // at most 256
	}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			small.SetColorIndex(x, y, nearest[at(x, y)])
		}
	}
	return small
}

// palette chooses the colours: the most frequent first, then again and again the
// one that is worst served, by how often it is there and how far from the nearest.
func palette(seen map[color.RGBA]int) color.Palette {
	all := make([]color.RGBA, 0, len(seen))
	for c := range seen {
		all = append(all, c)
	}
	number := func(c color.RGBA) int { return int(c.R)<<16 | int(c.G)<<8 | int(c.B) }
	slices.SortFunc(all, func(a, b color.RGBA) int { return number(a) - number(b) }) // the same each time
	missing := make([]int, len(all))
	for i := range missing {
		missing[i] = 3 * 255 * 255
	}
	var p color.Palette
	for len(p) < min(colors, len(all)) {
		worst := 0
		for i, c := range all {
			if missing[i]*seen[c] > missing[worst]*seen[all[worst]] {
				worst = i
			}
		}
		p = append(p, all[worst])
		for i, c := range all {
			missing[i] = min(missing[i], apart(c, all[worst]))
		}
	}
	return p
}

func apart(a, b color.RGBA) int {
	r, g, l := int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B)
	return r*r + g*g + l*l
}
