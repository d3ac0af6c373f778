//! The rules of algebra.
//!
//! One line is one law, in the notation of [`term`](super::term). Where several rules match, the first one applies. Tests
//! check each against the results of operators: see [`laws`](super::laws).

use super::term::*;
use crate::ir::Op::*;

/// All rules.
#[rustfmt::skip]
pub(super) static RULES: &[Rule] = rules! {
    // Neutral and absorbing constants.
    ([Add Or Xor Sub Shl Shr Sar] x 0) => x;
    ([Mul And] x 0) => 0;
    ([Mul] x 1) => x;
    ([Mul] x ones) => (Neg x) [late];
    ([And] x ones) => x;
    ([Or] x ones) => ones;
    ([Xor] x ones) => (Not x);

    // The same operand twice.
    ([Sub Xor] x x) => 0;
    ([And Or] x x) => x;
    ([Add] x x) => (Mul x 2) [wide];
    ([Neg] (Neg x)) => x;
    ([Not] (Not x)) => x;

    // Differences are sums, and sums with a negative are differences.
    ([Sub] x c) => (Add x (Neg c)) [late];
    ([Sub] 0 x) => (Neg x) [late];
    ([Sub] c (Sub d x)) => (Add x (Sub c d)) [late];
    ([Add] x (Neg y)) => (Sub x y) [late] if (Unknown x);

    // Constants meet, and move outwards.
    ([And Or Xor Mul] (same x c) d) => (same x (same c d));
    ([Add] (Add x c) d) => (Add x (Add c d)) [late];
    ([Add] x (Add y c)) => (Add (Add x y) c) [late wide];

    // Conditions as numbers.
    ([Neg] (ZeroExtend x)) => (Select x ones 0) if (Equal (Width x) 1);
    ([Mul] (ZeroExtend x) c) => (Select x c 0) if (Equal (Width x) 1);
    ([And] (Select x c d) e) => (Select x (And c e) (And d e));

    // Masks.
    ([And] x c) => x if (Equal (And (Bits x) (Not c)) 0);
    ([And] (Shl x c) d) => (Shl (And x (Shr d c)) c) if (LessEqual 1 c) and (Less c w);
    ([And] (Mul x c) d) => (Shl (And (Mul x (Sar c (Ctz c))) (Shr d (Ctz c))) (Ctz c)) if (Less 0 c) and (Equal (And c 1) 0);
    ([And] (Add (Shl x c) d) e) => (Shl (And (Add x (Sar d c)) (Shr e c)) c)
        if (LessEqual 1 c) and (Less c w) and (LessEqual c (Ctz (Or d e)));
    ([And] ([Or Xor] x y) c) => (And y c) if (Equal (And (Bits x) c) 0);

    // Shifts. Larger ones than the width give zero, so an amount need not be clamped.
    ([Sar] x y) => (Shr x y) if (Less (Bits x) sign);
    ([Shl Shr] x (Select (Less c y) c y)) => (same x y) if (LessEqual w c);
    ([Shl Shr] x (MIN_U32 y c)) => (same x y) if (LessEqual w c);
    ([Shr] x c) => 0 if (Equal (Shr (Bits x) c) 0);
    ([Shl] x c) => (Mul x (Shl 1 c)) [late wide] if (Less c w);
    ([Shl Shr] (same x c) d) => (same x (Add c d)) if (Less c w) and (Less d w) and (Less (Add c d) w);
    ([Shr Sar] (Shl ([Shr Sar] x c) c) c) => (same x c) if (Less c w);

    // Addresses in a memory window.
    ([Or] s c) => (Add s c) if (Less c WINDOW);
    ([Or] (Add s c) d) => (Add s (Or c d)) if (Less c WINDOW) and (Less d WINDOW);
    ([And] s c) => 0 if (Less c WINDOW);
    ([And] (Add s x) c) => (And x c) if (Less c WINDOW);
    ([Carry] s c) => 0 if (Less c WINDOW);
    ([ZeroExtend] (Add s c)) => (Add (ZeroExtend s) c) [wide] if (Less c WINDOW);

    // Comparisons that are known.
    ([SignedBorrow Carry SignedCarry] x 0) => 0;
    ([Equal LessEqual SignedLessEqual] x x) => 1;
    ([NotEqual Less SignedLess] x x) => 0;
    ([Less] x 0) => 0;
    ([LessEqual] 0 x) => 1;

    // Comparisons of what is computed for them.
    ([SignedLess] x y) => (Less x y) if (Small x) and (Small y);
    ([SignedLessEqual] x y) => (LessEqual x y) if (Small x) and (Small y);
    ([Equal NotEqual] ([Sub Xor] x y) 0) => (same x y);
    ([Equal NotEqual Less LessEqual SignedLess SignedLessEqual] (Select x c d) e) => (Select x (same c e) (same d e));
    ([Equal NotEqual] (Shl x c) d) => (same x (Shr d c))
        if (Less c (Width x)) and (LessEqual c (Ctz d)) and (Equal (Shr (Bits x) (Sub (Width x) c)) 0);
    ([Less] x 1) => (Equal x 0);
    ([Less] 0 x) => (NotEqual x 0);

    // Comparisons of extended values. Nothing is compared with fewer than 8 bits.
    ([Equal] (ZeroExtend x) 0) => (BoolNot x) if (Equal (Width x) 1);
    ([NotEqual] (ZeroExtend x) 1) => (BoolNot x) if (Equal (Width x) 1);
    ([Equal] (ZeroExtend x) 1) => x if (Equal (Width x) 1);
    ([NotEqual] (ZeroExtend x) 0) => x if (Equal (Width x) 1);
    ([Equal NotEqual] (ZeroExtend x) c) => (same x c) if (Equal (Shr c (Width x)) 0);
    ([Less LessEqual] (ZeroExtend x) c) => (same x c) if (LessEqual 8 (Width x)) and (Equal (Shr c (Width x)) 0);
    ([Less LessEqual] c (ZeroExtend x)) => (same c x) if (LessEqual 8 (Width x)) and (Equal (Shr c (Width x)) 0);
    ([Equal NotEqual Less LessEqual] (ZeroExtend x) (ZeroExtend y)) => (same x y)
        if (LessEqual 8 (Width x)) and (Equal (Width x) (Width y));
    ([Equal NotEqual SignedLess SignedLessEqual] (SignExtend x) c) => (same x c)
        if (LessEqual 8 (Width x)) and (SignedFits c x);
    ([SignedLess SignedLessEqual] c (SignExtend x)) => (same c x) if (LessEqual 8 (Width x)) and (SignedFits c x);
    ([Equal NotEqual SignedLess SignedLessEqual] (SignExtend x) (SignExtend y)) => (same x y)
        if (LessEqual 8 (Width x)) and (Equal (Width x) (Width y));

    // Conditions.
    ([BoolAnd] x 1) => x;
    ([BoolOr BoolXor] x 0) => x;
    ([BoolAnd] x 0) => 0;
    ([BoolOr] x 1) => 1;
    ([BoolXor] x 1) => (BoolNot x);
    ([BoolAnd BoolOr] x x) => x;
    ([BoolXor] x x) => 0;
    ([BoolOr BoolXor] x (BoolNot x)) => 1;
    ([BoolAnd] x (BoolNot x)) => 0;
    ([BoolOr] x (BoolAnd x y)) => x;
    ([BoolAnd] x (BoolOr x y)) => x;
    ([BoolOr] x (BoolAnd (BoolNot x) y)) => (BoolOr x y);
    ([BoolAnd] x (BoolOr (BoolNot x) y)) => (BoolAnd x y);
    ([BoolOr] (Less x y) (Equal x y)) => (LessEqual x y);
    ([BoolOr] (SignedLess x y) (Equal x y)) => (SignedLessEqual x y);
    ([BoolAnd] (LessEqual x y) (NotEqual x y)) => (Less x y);
    ([BoolAnd] (SignedLessEqual x y) (NotEqual x y)) => (SignedLess x y);

    // Negated conditions.
    ([BoolNot] (BoolNot x)) => x;
    ([BoolNot] (Equal x y)) => (NotEqual x y);
    ([BoolNot] (NotEqual x y)) => (Equal x y);
    ([BoolNot] (Less x y)) => (LessEqual y x);
    ([BoolNot] (LessEqual x y)) => (Less y x);
    ([BoolNot] (SignedLess x y)) => (SignedLessEqual y x);
    ([BoolNot] (SignedLessEqual x y)) => (SignedLess y x);
    ([BoolNot] (BoolAnd x y)) => (BoolOr (BoolNot x) (BoolNot y)) if (Negatable x) and (Negatable y);
    ([BoolNot] (BoolOr x y)) => (BoolAnd (BoolNot x) (BoolNot y)) if (Negatable x) and (Negatable y);

    // Selects.
    ([Select] 1 x y) => x;
    ([Select] 0 x y) => y;
    ([Select] x y y) => y;
    ([Select] (BoolNot x) y z) => (Select x z y);
    ([Select] x 1 y) => (BoolOr x y) [bit];
    ([Select] x y 0) => (BoolAnd x y) [bit];
    ([Select] x 0 y) => (BoolAnd (BoolNot x) y) [bit];
    ([Select] x y 1) => (BoolOr (BoolNot x) y) [bit];
    ([Select] x 1 0) => (ZeroExtend x);
    ([Select] x 0 1) => (ZeroExtend (BoolNot x));
    ([Select] x (Select x y z) v) => (Select x y v);
    ([Select] x y (Select x z v)) => (Select x y v);

    // Absolute values, minima and maxima.
    ([Select] (SignedLess x 0) (Neg x) x) => (ABS_I32 x) [word];
    ([Select] (SignedLess x 0) (Neg x) x) => (ABS_I64 x) [wide];
    ([Select] (SignedLessEqual 0 x) x (Neg x)) => (ABS_I32 x) [word];
    ([Select] (SignedLessEqual 0 x) x (Neg x)) => (ABS_I64 x) [wide];
    ([Select] ([Less LessEqual] x y) x y) => (MIN_U32 x y) [word];
    ([Select] ([Less LessEqual] x y) x y) => (MIN_U64 x y) [wide];
    ([Select] ([Less LessEqual] x y) y x) => (MAX_U32 x y) [word];
    ([Select] ([Less LessEqual] x y) y x) => (MAX_U64 x y) [wide];
    ([Select] ([SignedLess SignedLessEqual] x y) x y) => (MIN_I32 x y) [word];
    ([Select] ([SignedLess SignedLessEqual] x y) x y) => (MIN_I64 x y) [wide];
    ([Select] ([SignedLess SignedLessEqual] x y) y x) => (MAX_I32 x y) [word];
    ([Select] ([SignedLess SignedLessEqual] x y) y x) => (MAX_I64 x y) [wide];
    ([MIN_U32 MAX_U32 MIN_I32 MAX_I32] c x) => (same x c) [word] if (Unknown x);
    ([MIN_U64 MAX_U64 MIN_I64 MAX_I64] c x) => (same x c) [wide] if (Unknown x);
    ([MIN_U32] x c) => x [word] if (LessEqual (Bits x) c);

    // Choices of two constants whose halves are chosen: doubles.
    ([Concat] (Select x c d) e) => (Select x (Or (Shl c (Width e)) e) (Or (Shl d (Width e)) e)) [late wide];
    ([Concat] e (Select x c d)) => (Select x (Or (Shl e (Width c)) c) (Or (Shl e (Width c)) d)) [late wide];

    // Extensions.
    ([ZeroExtend SignExtend Low] x) => x if (Equal (Width x) w);
    ([SignExtend] x) => (ZeroExtend x) if (Small x);
    ([ZeroExtend SignExtend] (Shl x c)) => (Mul (ZeroExtend x) (Shl 1 c)) [wide]
        if (LessEqual (Width x) 32) and (Less c 31) and (Less (Mul (Bits x) (Shl 1 c)) (Shl 1 (Sub (Width x) 1)));
    ([ZeroExtend SignExtend] (Mul x c)) => (Mul (ZeroExtend x) c) [wide]
        if (LessEqual (Width x) 32) and (Less (Mul (Bits x) c) (Shl 1 (Sub (Width x) 1)));
    ([ZeroExtend SignExtend] (ZeroExtend x)) => (ZeroExtend x);
    ([SignExtend] (SignExtend x)) => (SignExtend x);

    // Lower halves.
    ([Low] ([ZeroExtend SignExtend] x)) => x if (Equal (Width x) w);
    ([Low] ([ZeroExtend SignExtend] x)) => (Low x) if (Less w (Width x));
    ([Low] ([ZeroExtend SignExtend] x)) => (chosen x) if (Less (Width x) w);
    ([Low] (Low x)) => (Low x);
    ([Low] (Concat x y)) => y if (Equal (Width y) w);
    ([Low] (Concat x y)) => (Low y) if (Less w (Width y));
    ([Low] (Select x y z)) => (Select x (Low y) (Low z)) if (PlainlyHalved y) and (PlainlyHalved z);
    ([Low] ([Add Sub Mul And Or Xor] x y)) => (chosen (Low x) (Low y)) [word] if (Halved x) and (Halved y);
    ([Low] (Neg x)) => (Neg (Low x)) [word] if (Split x);
    ([Low] (Shr (ZeroExtend x) y)) => (Shr x y) [word] if (Equal (Width x) w);

    // Upper halves.
    ([High] (Concat x y)) => x if (Equal (Width y) w);
    ([High] (ZeroExtend x)) => 0 if (LessEqual (Width x) w);
    ([High] x) => 0 if (Equal (Shr (Bits x) w) 0);
    ([High] (SignExtend x)) => (Sar x (Sub w 1)) [word] if (Equal (Width x) w);
    ([High] (Mul (ZeroExtend x) c)) => (Shr x (Sub w (Ctz c))) [word]
        if (Equal (Width x) w) and (Equal (PopCount c) 1) and (LessEqual 2 c) and (Equal (Shr c w) 0);
    ([High] (Mul (SignExtend x) c)) => (Sar x (Sub w (Ctz c))) [word]
        if (Equal (Width x) w) and (Equal (PopCount c) 1) and (LessEqual 2 c) and (Equal (Shr c w) 0);
    ([High] (Shl (Concat x 0) y)) => (Shl x y) [word] if (Equal (Width x) w);

    // Floating point. A float is exact as a double.
    ([SignedToFloat] (SignExtend x)) => (SignedToFloat x);
    ([SignedToFloat UnsignedToFloat] (ZeroExtend x)) => (UnsignedToFloat x);
    ([FloatEqual] 0 0) => 1;
    ([FloatAdd] x sign) => x;
    ([FloatAdd] x (FloatNegate y)) => (FloatSub x y);
    ([FloatNegate] (FloatNegate x)) => x;
    ([FloatAbs] ([FloatNegate FloatAbs] x)) => (FloatAbs x);
    ([FloatConvert] (FloatConvert x)) => x [word] if (Equal (Width x) 32);
    ([FloatConvert] ([FloatNegate FloatAbs] (FloatConvert x))) => (chosen x) [word] if (Equal (Width x) 32);
};
