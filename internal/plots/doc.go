// Package plots draws what package runs reads: [Curves] over rounds, a [Sweep] over a setting, a [HeatMap] of two,
// [Reliability] diagrams, [Clients] as bars, and the [Beliefs] of clients about one image; and of a data set how clients share it, the [Partition]. Each returns a [Figure], whose Write makes a PNG or an SVG of it; equal
// data give equal bytes.
//
// What is drawn tells itself apart by more than colour: lines have dashes as well, bars an order, cells their number.
// Colours are those of Okabe and Ito, which eyes with any of the common deficiencies tell apart. A legend stands below
// the panels, where it hides nothing.
package plots
