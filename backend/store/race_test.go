//go:build race

package store

// raceDetectorEnabled means that the race detector makes tests several times slower.
const raceDetectorEnabled = true
