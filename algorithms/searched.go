package algorithms

// This file has the presets that searches found for the network 784-100-10, which hold for one data set each: on MNIST, a
// rate of 0.5 is the best of FedAvg's, on Fashion-MNIST it throws clients that train alone off, and on CIFAR-10 it diverges.
//
// They are the best points of scripts/search.sh, 200 rounds, seed 1: on MNIST in the medium regime (results/search_*.csv), on
// Fashion-MNIST in the small one (results/search_fashion_*.csv).

// searched returns the presets of a method for MNIST and Fashion-MNIST.
func searched(mnist, fashion func() Algorithm) []Preset {
	return []Preset{searchedOn("mnist", mnist), searchedOn("fashion-mnist", fashion)}
}

func searchedOn(data string, make func() Algorithm) Preset {
	return Preset{
		Name: data, About: "rates and weights found by a search on " + data, New: make,
		Models: []string{"mlp", "mlp2"}, Data: []string{data},
	}
}

func searchedFedAvg() []Preset {
	at := func(lr float64) func() Algorithm {
		return func() Algorithm {
			m := NewFedAvg()
			m.LR = lr
			return erase(m)
		}
	}
	return searched(at(0.5), at(0.2))
}

func searchedFedProx() []Preset {
	at := func(lr, mu float64) func() Algorithm {
		return func() Algorithm {
			m := NewFedProx()
			m.LR, m.Mu = lr, mu
			return erase(m)
		}
	}
	return searched(at(0.5, 0.001), at(0.2, 0.01))
}

func searchedLocal() []Preset {
	at := func(lr float64) func() Algorithm {
		return func() Algorithm {
			m := NewLocal()
			m.LR = lr
			return erase(m)
		}
	}
	return searched(at(0.5), at(0.2))
}

func searchedFedAMP() []Preset {
	at := func(lr, sigma float64) func() Algorithm {
		return func() Algorithm {
			m := NewFedAMP()
			m.LR, m.Sigma = lr, sigma
			return erase(m)
		}
	}
	return searched(at(0.5, 10), at(0.2, 30))
}

func searchedHeurFedAMP() []Preset {
	at := func(lr, sigma float64) func() Algorithm {
		return func() Algorithm {
			m := NewHeurFedAMP()
			m.LR, m.Sigma = lr, sigma
			return erase(m)
		}
	}
	return searched(at(0.5, 25), at(0.2, 10))
}

// With the inner rate of 0.3 that MNIST likes best, weights without adaptation predict one class only; PM is what counts.
func searchedPerFedAvg() []Preset {
	at := func(inner, lr float64) func() Algorithm {
		return func() Algorithm {
			m := NewPerFedAvg()
			m.InnerLR, m.LR = inner, lr
			return erase(m)
		}
	}
	return searched(at(0.3, 0.5), at(0.1, 0.05))
}

// The decay, of which the public code has 0.001, was searched after the rest, in the small regime, where without it clients
// learn their images by heart from round 100 on:
//
//	fedbayes sweep --algo pfedme --regime small --rounds 400 --grid weight-decay=0,0.001,0.005
//
// results/search_pfedme_decay.csv and search_fashion_pfedme_decay.csv have its points.
func searchedPFedMe() []Preset {
	at := func(global, lr, beta float64) func() Algorithm {
		return func() Algorithm {
			m := NewPFedMe()
			m.LRGlobal, m.LR, m.Beta, m.WeightDecay = global, lr, beta, 0.005
			return erase(m)
		}
	}
	return searched(at(0.1, 0.03, 2), at(0.02, 0.01, 1))
}

// The rate of the global weights is FedAvg's. It has to be as high as that of the personal ones, or nearly so: weights that
// were trained with small steps lie where the loss is too steep for large ones.
func searchedDitto() []Preset {
	at := func(global, lr float64) func() Algorithm {
		return func() Algorithm {
			m := NewDitto()
			m.LRGlobal, m.LR, m.Lambda = global, lr, 0.03
			return erase(m)
		}
	}
	return searched(at(0.5, 0.05), at(0.1, 0.1))
}

// A smaller variance than the public code's makes a server of more units, with less to lose in the first rounds. On
// Fashion-MNIST it is no better.
func searchedBNFed() Preset {
	return searchedOn("mnist", func() Algorithm {
		m := NewBNFed()
		m.NoiseVar = 0.1
		return erase(m)
	})
}

// Almost all of what it has on FedAvg comes from the masks: with the prior's own weight of 1 and its network of zeros, clients
// that hold 250 images stay too near the server's mean, which shrinks.
//
// On CIFAR-10 masks and larger weights κ and λ0 did not help, and the last networks of all clients did
// (results/cifar10_fedhb.csv, small regime, VGG).
func searchedFedHBNIW() []Preset {
	cifar := searchedOn("cifar10", func() Algorithm {
		m := NewFedHBNIW()
		m.PriorCount, m.KeepProb, m.CacheAll = 0, 1, true
		return erase(m)
	})
	cifar.About, cifar.Models = "the best of what was tried on cifar10", []string{"vgg", "convnet"}
	return []Preset{searchedOn("mnist", func() Algorithm {
		m := NewFedHBNIW()
		m.LR, m.PriorWeight, m.PriorCount, m.KeepProb, m.Inverted = 0.5, 0.01, 0, 0.8, true
		return erase(m)
	}), cifar}
}
