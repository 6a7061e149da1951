package main

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write data/moons.csv anew")

// makeMoons draws two half moons that reach into each other, with noise. Its
// seed is fixed: the file in data is exactly this.
func makeMoons() []byte {
	rng := rand.New(rand.NewPCG(2, 3))
	var b bytes.Buffer
	b.WriteString("x,y,class\n")
	for range 1000 {
		class := rng.IntN(2)
		angle := rng.Float64() * math.Pi
		x, y := math.Cos(angle), math.Sin(angle)
		if class == 1 {
			x, y = 1-x, 0.5-y
		}
		fmt.Fprintf(&b, "%.4f,%.4f,%d\n", x+0.15*rng.NormFloat64(), y+0.15*rng.NormFloat64(), class)
	}
	return b.Bytes()
}

func TestDataIsWhatTheReadmeSays(t *testing.T) {
	want := makeMoons()
	if *rewrite {
		if err := os.WriteFile("data/moons.csv", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(moons, want) {
		t.Error("data/moons.csv is not what makeMoons draws; run go test ./examples/train -rewrite")
	}
}
