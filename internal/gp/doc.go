// Package gp classifies embeddings with Gaussian processes. It has what a personal model of pFedGP adds to its network.
//
// Classes are told apart by binary questions: those of a tree, whose inner nodes each ask on which side a class is, or one
// for each class against the rest (a scheme). A question is answered by a Gaussian process on the embeddings' directions
// with a logistic likelihood,
//
//	f ~ N(0, K),  p(y|f) = σ(y·f),  y = ±1,
//
// which Pólya-Gamma variables ω make Gaussian: given ω, f is what regression on y/(2ω) with noise of variance 1/ω gives. An
// [Inference] finds ω, by variational inference or by Gibbs sampling.
//
// A [Model] has two uses. Loss takes some examples as known and scores the others, with the gradient of that score with
// respect to all embeddings, so that a network can be trained through it. Fit makes a [Classifier] of all examples. Training
// is in float64; predictions, of which there are more, in float32.
//
// Achituve et al., Personalized Federated Learning with Gaussian Processes. NeurIPS 2021.
// Achituve et al., GP-Tree: A Gaussian Process Classifier for Few-Shot Incremental Learning. ICML 2021.
package gp
