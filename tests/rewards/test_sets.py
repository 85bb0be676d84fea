r"""Sets of real numbers, points and systems: names, words, conditions and lines that say the same, or another thing."""

import pytest

from .met_by import assert_met_by

#: Gold answer -> what it is met by, and what not.
CASES: dict[str, tuple[list[str], list[str]]] = {
    "10^{400}": (
        [],
        [r"5\%"],
    ),
    "x": (
        [],
        [r"5\%"],
    ),
    r"\frac{\sqrt{2}}{2}": (
        [],
        [r"\frac{\sqrt{2}}{2}\%"],
    ),
    "1": (
        [],
        [r"1\%", r"100\%"],
    ),
    "0": (
        [r"0\%"],
        [],
    ),
    "12.5": (
        [r"12.5\%", "12.5 percent"],
        [],
    ),
    "(1,2,3)": (
        ["(x,y,z)=(1,2,3)", "(a,b,c)=(1,2,3)", "(z,y,x)=(3,2,1)", "x=1,y=2,z=3", "z=3, x=1, y=2",
         r"\begin{cases}x=1\\y=2\\z=3\end{cases}", r"x=1,\quad y=2,\quad z=3", r"x=1\text{, }y=2\text{, and }z=3",
         "(p,q,r)=(1,2,3)"],
        ["(z,y,x)=(1,2,3)", "(x,z,y)=(1,2,3)", "(c,b,a)=(1,2,3)", "1,2,3", r"\{1,2,3\}"],
    ),
    "(3,2)": (
        ["(n,k)=(3,2)", "(h,k)=(3,2)", "n=3,k=2", r"(r,\theta)=(3,2)", "(m,n)=(3,2)", "a=3,b=2", "b=2,a=3"],
        ["(b,a)=(3,2)", "(q,p)=(3,2)", "b=3,a=2", "(k,n)=(2,3)"],
    ),
    "(1,2),(3,4)": (
        ["(x,y)=(1,2),(3,4)", "(3,4),(1,2)", r"(x,y)\in\{(1,2),(3,4)\}", r"(1,2)\text{ and }(3,4)",
         r"\{(1,2),(3,4)\}", r"(y,x)\in\{(2,1),(4,3)\}", r"(x,y)=(1,2)\text{ or }(x,y)=(3,4)",
         r"(x,y)=(1,2)\text{ or }(3,4)", "(x, y) = (1, 2), (x,y) = (3, 4)", "(x=1,y=2),(x=3,y=4)",
         r"x=1,y=2\text{ or }x=3,y=4",
         r"\begin{cases} x=1\\ y=2 \end{cases} \text{ or } \begin{cases}x=3\\y=4\end{cases}",
         r"\begin{cases}x=1\\y=2\end{cases},\begin{cases}x=3\\y=4\end{cases}"],
        ["(1,2)", "(1,2),(4,3)", r"(y,x)\in\{(1,2),(3,4)\}", "1,2,3,4", r"(x,y)=(2,1)\text{ or }(x,y)=(3,4)",
         r"\begin{cases} x=1\\ y=4 \end{cases} \text{ or } \begin{cases}x=3\\y=2\end{cases}"],
    ),
    "x=3,y=-1": (
        ["3,-1", "(3,-1)", "y=-1,x=3", r"x=3 \text{ and } y=-1", "(x,y)=(3,-1)"],
        ["-1,3", "(y,x)=(3,-1)", r"\{3,-1\}", r"x=3\text{ or }y=-1", "x=-1,y=3", "a=3,b=-1", "(a,b)=(3,-1)",
         r"\{-1,3\}", "3", "x=3"],
    ),
    r"\{1,2\}": (
        ["1,2", "2,1", r"x\in\{1,2\}", r"x=1\text{ or }x=2", "x=1,2", "x=1,x=2", "x_1=1,x_2=2", r"\{2,1\}",
         r"1\text{ and }2", r"\left\{1,2\right\}", r"S=\{1,2\}"],
        ["(1,2)", "[1,2]", "1", r"\{1,2,3\}", r"\{1\}", r"x\notin\{1,2\}", r"\{(1,2)\}"],
    ),
    r"(-\infty,-1)\cup(-1,1)\cup(1,\infty)": (
        [r"\text{all real numbers except } -1 \text{ and } 1",
         r"\text{All real numbers except }x=1\text{ and }x=-1", r"x\ne\pm1", r"\mathbb{R}\setminus\{-1,1\}",
         r"\mathbb{R}-\{-1,1\}", r"\text{all reals except }\pm1", r"\{x\mid x\neq\pm1\}",
         r"\{x\in\mathbb{R}\mid x\ne1,x\ne-1\}", r"\text{all real numbers }x\text{ except }x=\pm1",
         r"\text{all real numbers } x \ne \pm 1", r"x\in\mathbb{R}, x\neq\pm1", r"|x|\ne1",
         r"x \ne 1 \text{ and } x \ne -1", r"x\in(-\infty,-1)\cup(-1,1)\cup(1,\infty)",
         r"\mathbb{R}\setminus\{\pm1\}"],
        [r"\text{all real numbers except }1", r"\text{all integers except }\pm1",
         r"\text{all real numbers except }0", r"\mathbb{R}\setminus(-1,1)", r"\mathbb{R}\setminus\{1\}"],
    ),
    r"(2,\infty)": (
        [r"\text{all real numbers greater than }2", r"\text{all real numbers }x>2", "x>2",
         r"\text{all real numbers }x\text{ such that }x>2", r"\{x:x>2\}", r"x\in(2,\infty)",
         "all real numbers greater than 2"],
        [r"\text{all real numbers greater than or equal to }2", r"\text{all real numbers at least }2",
         r"\text{all real numbers less than }2", r"\text{all positive real numbers greater than }3",
         r"\text{all integers greater than }2", r"[2,\infty)"],
    ),
    r"[0,\infty)": (
        [r"\mathbb{R}_{\ge0}", r"\mathbb{R}_{\geq 0}", r"\mathbb{R}^{+}\cup\{0\}",
         r"\text{all nonnegative real numbers}", r"x\ge0", r"\{0\}\cup(0,\infty)", r"\mathbb{R}_0^+",
         r"x>0\text{ or }x=0", r"\text{all non-negative reals}"],
        [r"\mathbb{R}^+", r"\mathbb{R}_{>0}", r"\mathbb{Z}_{\ge0}", r"\mathbb{R}_{\le0}", r"\mathbb{N}"],
    ),
    r"\mathbb{Z}^+": (
        [r"\text{all positive integers}", r"\mathbb{Z}_{>0}", r"\mathbb{Z}^{+}", r"n\in\mathbb{Z}^+"],
        [r"\mathbb{Z}", r"\mathbb{N}", r"\mathbb{R}^+", r"\text{all integers}", r"\text{all nonnegative integers}"],
    ),
    r"\mathbb{R}": (
        [r"\mathbb R", r"\R", r"x\in\mathbb{R}", r"\text{all real numbers}", "all real numbers",
         r"\text{All reals}", r"(-\infty,\infty)", r"-\infty<x<\infty", r"\text{any real number}",
         r"\text{all real }x", r"\text{all real values of }x", "all real x"],
        [r"\mathbb{R}^2", r"\mathbb{R}^+", r"\mathbb{R}^*", r"\text{real}", r"\text{real number}", r"\mathbb{C}",
         "R", r"\mathbb{R}_+", r"\text{all positive real }x"],
    ),
    r"\mathbb{R}^2": (
        [r"\mathbb{R}^{2}"],
        [r"\mathbb{R}"],
    ),
    r"(-\infty,0)": (
        [r"\mathbb{R}^-", "x<0"],
        [r"\mathbb{R}^+"],
    ),
    "[-1,1]": (
        [r"|x|\le1", r"-1\le x\le1", r"|y|\le1", r"\{x:|x|\le1\}", r"|x| \leqslant 1", r"x\in[-1,1]"],
        [r"|z|\le1", "|x|<1", r"|x-1|\le1", r"|x|\ge1", "|x|=1", r"\{-1,1\}"],
    ),
    "|x|<3": (
        ["(-3,3)", "-3<x<3", "3>|x|"],
        [r"|x|\le3", "|y|<3", "|x|>3", "x<3"],
    ),
    r"(-\infty,-2]\cup[2,\infty)": (
        [r"|x|\ge2", r"x\le-2\text{ or }x\ge2"],
        ["|x|>2", r"|x|\ge3"],
    ),
    r"(-2,0)\cup(0,2)": (
        ["0<|x|<2", r"|x|<2,x\ne0", r"(-2,2)\setminus\{0\}", "2>|x|>0"],
        ["|x|<2", r"0\le|x|<2"],
    ),
    "|z|<2": (
        [],
        ["-2<z<2", "(-2,2)"],
    ),
    "y<2x+1": (
        ["y-2x<1", "2x-y+1>0", r"x>\frac{y-1}{2}", "y<1+2x", "2x-y>-1", "2x+1>y"],
        ["y>2x+1", r"y\le2x+1", "2x-y+1<0", r"x<\frac{y-1}{2}", "y-2x>1", r"y-2x\le1", "y-2x<2", "2x-y>1"],
    ),
    "x+y>1": (
        ["y>1-x", "x>1-y"],
        ["y<1-x", r"y\ge1-x"],
    ),
    "x<2": (
        ["2>x", r"(-\infty,2)"],
        ["2x<4", r"x\le2"],
    ),
    r"(-\infty,1)\cup(2,\infty)": (
        [r"x<1 \cup x>2", r"x<1\vee x>2", r"x<1\lor x>2", r"\{x<1\}\cup\{x>2\}",
         r"x\in(-\infty,1)\cup x\in(2,\infty)", r"x\in(-\infty,1)\cup(2,\infty)", r"\{x|x<1\}\cup\{x|x>2\}",
         r"(-\infty,1)\text{ or }(2,\infty)", r"(-\infty,1)\text{ and }(2,\infty)"],
        [r"x<1\wedge x>2", r"x<1\cap x>2", r"x<1 \cup x>3", r"x<1 \cup y>2"],
    ),
    r"\{0\}\cup[1,2]": (
        [r"x=0 \text{ or } 1\le x\le 2", r"[1,2]\cup\{0\}", r"x=0\text{ or }x\in[1,2]", r"x=0, 1\le x\le2",
         r"\{x\mid x=0\text{ or }1\le x\le2\}", r"0\cup[1,2]"],
        [r"x=1\text{ or }1\le x\le2", r"\{0\}\cup(1,2]", "[0,2]", "[1,2]", "x=0,x=1,x=2"],
    ),
    r"\{0,3\}\cup[1,2]": (
        [r"\{0\}\cup[1,2]\cup\{3\}", r"x=0\text{ or }x=3\text{ or }1\le x\le2",
         r"x=0\text{ or }1\le x\le2\text{ or }x=3"],
        [r"\{0\}\cup[1,2]"],
    ),
    r"\log_{2}5": (
        [r"\log_25", r"\log_2 5", r"\log_2(5)", r"\log_2{5}", r"\frac{\ln5}{\ln2}", r"\frac{\log5}{\log2}",
         r"\frac{1}{\log_52}"],
        [r"\log_{25}", r"\log_52", r"\log_{2}{6}", r"\log_26"],
    ),
    r"\log_{2}5+1": (
        [r"\log_25+1", r"1+\log_25"],
        [r"\log_26"],
    ),
    r"\frac{\log_{3}7}{2}": (
        [r"\frac{\log_37}{2}", r"\frac12\log_37", r"\log_37/2"],
        [],
    ),
    "(1,2)": (
        ["(x,y)=(1,2)", "(y,x)=(2,1)", "(a,b)=(1,2)", "(n,k)=(1,2)", "x=1,y=2", "y=2,x=1", "(x_1,x_2)=(1,2)",
         r"\begin{cases} x=1 \\ y=2 \end{cases}"],
        ["(y,x)=(1,2)", "(b,a)=(1,2)", "(x_2,x_1)=(1,2)", "(x,y)=(2,1)"],
    ),
    "(x,y)=(1,2)": (
        ["(1,2)", "(y,x)=(2,1)", "x=1,y=2", r"x=1 \text{ and } y=2"],
        ["(y,x)=(1,2)", "x=2,y=1", "y=1,x=2", "(a,b)=(1,2)"],
    ),
    "0.25": (
        [r"\frac14"],
        [r"0.25\%", r"\frac14\%", "0.25 percent", r"0.25\text{ per cent}"],
    ),
    "50": (
        [r"50\%"],
        [],
    ),
    "x=1, y=2": (
        ["1,2", "(1,2)", r"\begin{cases} x=1 \\ y=2 \end{cases}",
         r"\left\{\begin{array}{l}x=1\\y=2\end{array}\right.", r"\begin{cases} x=1, \\ y=2. \end{cases}",
         r"\begin{aligned}x&=1\\y&=2\end{aligned}", r"\left\{\begin{matrix}x=1\\y=2\end{matrix}\right.",
         r"\begin{array}{rcl}x&=&1\\y&=&2\end{array}", r"\begin{align*}x&=1\\y&=2\end{align*}",
         r"\begin{cases}x = 1 \\[4pt] y = 2\end{cases}", r"\begin{cases}y=2\\x=1\end{cases}",
         r"\begin{aligned}x&=1,\\y&=2.\end{aligned}"],
        [r"\{1,2\}", "x=1,2", r"1 \text{ or } 2", r"\begin{cases} x=2 \\ y=1 \end{cases}",
         r"\begin{cases}x=1\\y=3\end{cases}", r"\begin{cases}x=1\end{cases}", r"\begin{cases}x=1\\y\ne2\end{cases}"],
    ),
    "x=1, y=-1": (
        [],
        [r"\pm1"],
    ),
    r"(-\infty,0)\cup(0,\infty)": (
        ["all real numbers except 0", r"\text{all real numbers except }0", r"\text{All real numbers except 0}",
         r"\text{all reals except } x=0", r"\mathbb{R}^*", r"\mathbb{R}\setminus\{0\}",
         r"\text{all nonzero real numbers}", r"x\ne0"],
        ["all real numbers except 1", "all real numbers", "all integers except 0"],
    ),
    r"x \ne 0": (
        ["all real numbers except 0", r"\text{all real numbers except zero}", r"\text{all }x\text{ except }0",
         r"\text{all real }x\text{ except }0", r"\text{all real numbers that are not }0",
         r"\text{all real numbers not equal to }0", r"\text{every real number except 0}",
         r"\text{any real number other than 0}", r"\text{all } x \ne 0",
         r"\text{all real values of }x\text{ except }0", r"\text{all nonzero real numbers}",
         r"\text{nonzero real numbers}", r"x<0\text{ or }x>0", r"\mathbb{R}\text{ except }0",
         r"x\in\mathbb{R}\setminus\{0\}", r"x \in \mathbb{R}, x \neq 0",
         r"\text{all real numbers } x \text{ such that } x \neq 0", "All real numbers except 0.",
         r"\text{All real numbers except }0\text{.}"],
        ["all real numbers except 1", r"\text{all real numbers except one}", r"\text{all real numbers}",
         r"\text{all positive real numbers except }0", r"\text{all }x", r"\text{not all real numbers except 0}",
         r"\text{all integers that are not }0", r"\text{all real numbers except }0\text{ and }1"],
    ),
    r"(0,\infty)": (
        [r"\mathbb{R}^+", r"\mathbb{R}^{+}", r"\mathbb{R}_{>0}", r"x\in\mathbb{R}^+", r"\mathbb{R}_{++}",
         r"\mathbb{R}_+^*", "ℝ⁺", r"\text{all positive reals}", r"\text{positive real numbers}"],
        [r"\mathbb{R}^-", r"\mathbb{R}_{\ge0}", r"\mathbb{Z}^+", r"\mathbb{R}", r"\mathbb{R}_+", r"\mathbb{R}^*"],
    ),
    "[-2,2]": (
        [r"|x|\le2", r"2\ge|x|", r"|x| \leq 2"],
        ["|x|<2", r"|x|\le3", r"|x|\ge2"],
    ),
    r"(-\infty,-2)\cup(2,\infty)": (
        ["|x|>2", "2<|x|"],
        ["|x|<2", r"|x|\ge2"],
    ),
    r"x=0 \text{ or } 1\le x\le 2": (
        [r"\{0\}\cup[1,2]"],
        [r"\{0\}\cup[1,2)", "[0,2]"],
    ),
    r"x\ne1,2": (
        [r"\text{all real numbers except one and two}", r"\text{all reals except }x=1\text{ and }x=2",
         r"\text{all real numbers except }1\text{ and }2", r"\text{all real numbers except }1, 2",
         r"\text{all real numbers except for }x=1, x=2", r"\text{all real numbers except }x=1,2"],
        [r"\text{all real numbers except }1"],
    ),
    "x^2-4": (
        ["x²-4"],
        ["x³-4"],
    ),
    "x^4": (
        ["x⁴"],
        ["x⁵"],
    ),
    "x=1,x=2,y=3": (
        ["y=3,x=1,x=2"],
        ["x=1,x=3,y=2"],
    ),
    "1<x<3": (
        [r"\begin{cases}x>1\\x<3\end{cases}"],
        [r"\begin{cases}x>1\\x<4\end{cases}"],
    ),
    r"\begin{pmatrix}1&2\\3&4\end{pmatrix}": (
        [r"\begin{matrix}1&2\\3&4\end{matrix}"],
        [r"\begin{pmatrix}1&2\\4&3\end{pmatrix}"],
    ),
    r"\begin{pmatrix}1\\2\end{pmatrix},\begin{pmatrix}3\\4\end{pmatrix}": (
        [r"\begin{pmatrix}3\\4\end{pmatrix},\begin{pmatrix}1\\2\end{pmatrix}"],
        [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("gold", CASES)
def test_what_it_is_met_by(gold: str) -> None:
    assert_met_by(gold, *CASES[gold])
