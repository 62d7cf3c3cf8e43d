//go:build !race

package cli

// Raced is whether the race detector watches, which makes a test ten times as long.
const Raced = false
