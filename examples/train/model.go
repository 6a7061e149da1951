package main

import (
	"math"
	"math/rand/v2"
)

// Model is a network of two layers that tells two classes of points in the
// backend apart. Its fields are what a checkpoint holds.
type Model struct {
	In  [][2]float64 // weights of each hidden unit
	InB []float64
	Out []float64 // weight of each hidden unit in the answer
	Bia float64
}

// Sample is a point and its class, 0 or 1.
type Sample struct {
	X [2]float64
	Y float64
}

// NewModel returns an untrained model with the given number of hidden units.
func NewModel(hidden int, rng *rand.Rand) *Model {
	m := &Model{In: make([][2]float64, hidden), InB: make([]float64, hidden), Out: make([]float64, hidden)}
	scale := 1 / math.Sqrt(float64(hidden))
	for i := range hidden {
		m.In[i] = [2]float64{rng.NormFloat64(), rng.NormFloat64()}
		m.Out[i] = rng.NormFloat64() * scale
	}
	return m
}

// Predict returns the probability that x is of class 1. hidden receives the
// activations of the hidden units and has their length.
func (m *Model) Predict(x [2]float64, hidden []float64) float64 {
	z := m.Bia
	for i := range m.In {
		hidden[i] = math.Tanh(m.In[i][0]*x[0] + m.In[i][1]*x[1] + m.InB[i])
		z += m.Out[i] * hidden[i]
	}
	return 1 / (1 + math.Exp(-z))
}

// Epoch trains on every sample once, in a random order, and returns the mean
// loss before each step.
func (m *Model) Epoch(samples []Sample, rate float64, rng *rand.Rand) float64 {
	hidden := make([]float64, len(m.In))
	total := 0.0
	for _, k := range rng.Perm(len(samples)) {
		s := samples[k]
		p := m.Predict(s.X, hidden)
		total += loss(p, s.Y)
		d := p - s.Y // of the loss by the answer before the sigmoid
		for i, h := range hidden {
			dh := d * m.Out[i] * (1 - h*h)
			m.Out[i] -= rate * d * h
			m.In[i][0] -= rate * dh * s.X[0]
			m.In[i][1] -= rate * dh * s.X[1]
			m.InB[i] -= rate * dh
		}
		m.Bia -= rate * d
	}
	return total / float64(len(samples))
}

// loss is the cross-entropy of answer p where y is right.
func loss(p, y float64) float64 {
	const least = 1e-12 // keeps a confident error finite
	return -y*math.Log(max(p, least)) - (1-y)*math.Log(max(1-p, least))
}

// Accuracy is the part of samples that m gets right.
func (m *Model) Accuracy(samples []Sample) float64 {
	hidden := make([]float64, len(m.In))
	right := 0
	for _, s := range samples {
		if (m.Predict(s.X, hidden) > 0.5) == (s.Y == 1) {
			right++
		}
	}
	return float64(right) / float64(len(samples))
}
