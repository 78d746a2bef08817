package kind

import "math/big"

type Schema struct {
	Location string
}

type Group struct{}

type Not struct{}

type AllOf struct{}

type AnyOf struct{}

type OneOf struct {
	// Subschemas gives indexes of Subschemas that have matched.
	// Value nil, means none of the subschemas matched.
	Subschemas []int
}

//--

type FalseSchema struct{}

type RefCycle struct {
	URL string
}

type Type struct {
	Got  string
	Want []string
}

type Enum struct {
	Got  any
	Want []any
}

// KeywordPath implements jsonschema.ErrorKind.

type Const struct {
	Got  any
	Want any
}

type Format struct {
	Want string
	Err  error
}

type Reference struct {
	Keyword string
	URL     string
}

type MinProperties struct {
	Got, Want int
}

type MaxProperties struct {
	Got, Want int
}

type MinItems struct {
	Got, Want int
}

type MaxItems struct {
	Got, Want int
}

type AdditionalItems struct {
	Count int
}

type Required struct {
	Missing []string
}

type Dependency struct {
	Prop    string   // dependency of prop that failed
	Missing []string // missing props
}

type DependentRequired struct {
	Prop    string   // dependency of prop that failed
	Missing []string // missing props
}

type AdditionalProperties struct {
	Properties []string
}

type PropertyNames struct {
	Property string
}

type UniqueItems struct {
	Duplicates [2]int
}

type Contains struct{}

type MinContains struct {
	Got  []int
	Want int
}

type MaxContains struct {
	Got  []int
	Want int
}

type MinLength struct {
	Got, Want int
}

type MaxLength struct {
	Got, Want int
}

type Pattern struct {
	Got  string
	Want string
}

type Minimum struct {
	Got  *big.Rat
	Want *big.Rat
}

type Maximum struct {
	Got  *big.Rat
	Want *big.Rat
}

type ExclusiveMinimum struct {
	Got  *big.Rat
	Want *big.Rat
}

type ExclusiveMaximum struct {
	Got  *big.Rat
	Want *big.Rat
}

type MultipleOf struct {
	Got  *big.Rat
	Want *big.Rat
}

// to be used only for primitive.
