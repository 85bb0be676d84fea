r"""Each kind of answer, as models write it: right in other words, and wrong by little."""

import pytest

from pacs.rewards.math import grade

from .met_by import assert_met_by

#: Gold answer -> what it is met by, and what not.
CASES: dict[str, tuple[list[str], list[str]]] = {
    r"x=1,y=2\text{ or }x=3,y=4": (
        ["(1,2),(3,4)", r"x=3,y=4\text{ or }x=1,y=2", "x=1,y=2;x=3,y=4", "x=1,y=2,x=3,y=4",
         r"(x,y)=(1,2)\text{ or }(x,y)=(3,4)", r"y=2,x=1\text{ or }y=4,x=3"],
        [r"x=1,y=4\text{ or }x=3,y=2", "x=1,y=4;x=3,y=2", "x=1,y=4,x=3,y=2", "x=1,y=2", "1,2,3,4",
         "(1,4),(3,2)"],
    ),
    "(1,2)": (
        ["(x=1,y=2)", "(y=2,x=1)"],
        ["(y=1,x=2)", "1,2", r"\overline{12}", "(1 2)", "(1;2", "(1,2,)"],
    ),
    r"(-\infty,1)\cup(2,\infty)": (
        [r"(-\infty,1)\text{ or }(2,\infty)", r"(-\infty,1),(2,\infty)",
         r"(-\infty,1)\text{ and }(2,\infty)"],
        [r"(-\infty,1)", r"(2,\infty)", r"(-\infty,1),(3,\infty)"],
    ),
    "(1,2),(3,4)": (
        [],
        [r"(1,2)\cup(3,4)"],
    ),
    # Without its braces an exponent is all its digits: nobody means x^{1}0, which TeX sets.
    "x^{10}": (
        ["x^10", "x^(10)", "x¹⁰"],
        ["x^{1}0", "x^1 0", "x^1", "x10", "x_{10}", "x₁₀"],
    ),
    "x_{10}": (
        ["x_10", "x₁₀"],
        ["x_1", "x_{1}0", "x¹⁰", "10x"],
    ),
    "10^{-19}": (
        ["10⁻¹⁹", "10^-19", "10^{‑19}", "10^{−19}", "1e-19"],
        ["10⁻¹⁸", "10¹⁹", "10^{-1}9"],
    ),
    r"\log_2 3": (
        ["log₂3", "log₂ 3", r"\log₂3"],
        ["log₃2", r"\log 3"],
    ),
    "101_2": (
        ["101₂"],
        ["101₃", "101²"],
    ),
    # As differences 2024-01-02 and 2024-02-01 are both 2021.
    "2024-01-02": (
        ["2024-01-02.", r"\text{2024-01-02}"],
        ["2024-02-01", "2021", "2024-01-03", "2024", "01/02/2024"],
    ),
    "2024-1-2": (
        [r"\text{2024-1-2}"],
        ["2024-2-1", "2021"],
    ),
    "01/02/2024": (
        [r"\text{01/02/2024}"],
        ["02/01/2024", r"\frac{1}{4048}", "1/4048", "2024-01-02"],
    ),
    "-3.5": (
        ["‑3½", "−3 1⁄2", "-7∕2"],
        ["3½", "-3⅓", "-3⁄2"],
    ),
    r"45^\circ, 135^\circ": (
        ["45,135", r"45\degree, 135\degree", "135°, 45°", r"45^\degree, 135^{\degree}"],
        ["45135", "45.135", "(45,135)", r"45\degree", r"45\circ, 135\circ"],
    ),
    # The letter o for the sign of degrees, as texts that were read from paper have it; signs that look like it.
    "60^{o}": (
        ["60", r"60^\circ", "60°", "60^o", "60º", "60˚", "60^°", "60^{°}", r"60^{\mathrm{o}}", r"60^{\text{o}}",
         r"60^{\rm o}", r"\angle A=60^{o}", r"60\text{ degrees}"],
        ["61", "60^2", "60o", "60_o", "30°", r"\frac{\pi}{3}", "60^{0}", "60^{oo}"],
    ),
    "35°30'": (
        [r"35^\circ30'", r"35^{\circ} 30^{\prime}", r"35^\circ 30^\prime", "35°30′", "35.5°", "35.5",
         r"\frac{71}{2}^\circ", "35°30'0''"],
        ["35°", "35°31'", "35.3°", "-35°30'", "35°60'", "30'", "35°3'", r"35\cdot30", "65°"],
    ),
    r"-12^{\circ} 20^{\prime} 24^{\prime\prime}": (
        ["-12.34", "-12°20'24''", "-12°20′24″", "-12°20'24\""],
        ["12.34", "-11.66", "-12°20'", "-12°24'20''"],
    ),
    "25°C": (
        ["25", r"25^\circ C", r"25^{\circ}\text{C}", "25 °C", r"25^\circ\mathrm{C}"],
        ["25°F", "-25°C", "25 K", "25C"],
    ),
    "-5°F": (
        ["-5", r"-5^{\circ}\text{F}", r"-5^\circ F"],
        ["5", "-5°C"],
    ),
    # The letter x for the sign of a product, before a power of ten alone.
    "1.6 x 10^{-19}": (
        [r"1.6\times10^{-19}", "1.6e-19", "1.6x10^-19", "1.6×10⁻¹⁹", r"1.6 x 10^{-19}\text{ C}"],
        ["1.6x10^{-18}", "1.6", "1.6x", "1.6x^{10}", "1.6xy", "16x10^{-19}"],
    ),
    "3x^{10}": (
        ["3x^10"],
        [r"3\cdot10^{10}", "3x10", "3x"],
    ),
    "12, 100, 7": (
        ["7,12,100", "12,100,7"],
        ["12100, 7", "7, 12100"],
    ),
    "45{,}135": (
        ["45,135", "45135"],
        ["45, 135", "135,045"],
    ),
    # A capital M is mega.
    r"5\text{ mm}": (
        ["5", "5mm", r"5\text{ millimeters}"],
        ["5Mm", r"5\text{ Mm}", r"5\text{ mM}", "5 cm"],
    ),
    r"5\text{ mL}": (
        [r"5\text{ ml}", "5 ml"],
        [r"5\text{ ML}", r"5\text{ Ml}"],
    ),
    r"\$12.50": (
        ["12.50 USD", r"12.5\text{ USD}"],
        ["12.50 EUR"],
    ),
    r"5\text{ pc}": (
        ["5 pc", "5"],
        [r"5\%", "5 percent"],
    ),
    "1234567": (
        ["1,234,567", r"1\,234\,567", "1{,}234{,}567", "1\u202f234\u202f567", "1\u00a0234\u2009567",
         "1234567.0", r"1.234567\times10^6", "1.234567e6"],
        ["1234576", "1 234 567", "1\u202f234\u202f56", "1,234,568", "123,4567", "12,34567", "1.234567",
         r"1.234567\times10^7"],
    ),
    "1000": (
        ["10^3", r"1\times10^3", "1,000", "1000.00", r"1000\text{ ways}"],
        ["100", "10^4", "1,00", r"1\times 10^2", "1.000"],
    ),
    r"\frac{17}{4}": (
        ["4.25", r"4\frac14", "4 1/4", "17/4", r"4\tfrac{1}{4}", r"\frac{17}4"],
        ["4.2", r"\frac{4}{17}", r"4\cdot\frac14", r"-\frac{17}{4}", r"\frac{17}{4}x", r"\frac{34}{8}",
         r"4.25\%", "17:5"],
    ),
    r"-\frac{3}{4}": (
        [r"\frac{-3}{4}", r"\frac{3}{-4}", "-0.75", "-3/4", r"-\dfrac34", "(-3)/4", "-.75", "−3/4", "–3/4"],
        ["0.75", r"\frac34", "-4/3", r"\frac{-3}{-4}", "-(-3/4)"],
    ),
    r"\frac{\sqrt{3}}{3}": (
        [r"\frac{1}{\sqrt{3}}", r"\frac{\sqrt3}3", r"\sqrt{3}/3", r"\frac13\sqrt{3}", "3^{-1/2}",
         r"\sqrt{\frac13}", "0.577350", r"\sqrt{1/3}"],
        [r"\frac{\sqrt3}{2}", r"\sqrt{3/3}", "0.577", r"\sqrt3", r"\frac{3}{\sqrt3}"],
    ),
    "2+3i": (
        ["3i+2", "2+3 i", r"2+3\cdot i", r"2+3\mathrm{i}"],
        ["2-3i", "3+2i", "2+3", "2+3j", "(2,3)"],
    ),
    r"e^{i\pi/3}": (
        [r"e^{\frac{\pi i}{3}}", r"e^{\pi i/3}", r"\exp(i\pi/3)"],
        [r"e^{\pi/3}"],
    ),
    r"\$1,250": (
        ["1250", r"\$1250", "1{,}250", "$1,250$", r"1250\text{ dollars}", r"\$1250.00", "1250 dollars",
         r"\$ 1250"],
        ["1.25", r"\$125", r"1250\text{ cents}", r"1250\text{ euros}", "-1250"],
    ),
    r"45^\circ": (
        ["45", r"45^{\circ}", "45°", r"45\text{ degrees}", r"45 \text{ deg}", r"\angle A=45^\circ",
         r"\theta=45^\circ"],
        [r"\frac{\pi}{4}", "45'", r"45\text{ rad}", r"45\%"],
    ),
    r"\frac{\pi}{4}": (
        [r"\pi/4", r"0.25\pi", r"\frac14\pi", r"\tfrac{\pi}{4}", "0.785398",
         r"\frac{\pi}{4}\text{ radians}"],
        [r"45^\circ", "45", "0.785", r"\frac{\pi}{2}"],
    ),
    r"12\text{ cm}^2": (
        ["12", r"12\text{ cm}^{2}", r"12\ \mathrm{cm}^2", r"12\text{ square centimeters}", "12 cm^2",
         r"12\,cm^2", r"12\text{ sq cm}", r"12\text{ cm²}", r"12~\text{cm}^2"],
        [r"12\text{ cm}", r"12\text{ m}^2", r"12\text{ cm}^3", "12^2", "144"],
    ),
    r"60\text{ mph}": (
        ["60", r"60\text{ miles per hour}", r"60\text{ miles/hour}", r"60\text{ mi/h}"],
        [r"60\text{ km/h}", r"60\text{ miles}", r"60\text{ hours}"],
    ),
    "x^2-4": (
        ["-4+x^2", "x^{2}-4", "x^2 - 4", "f(x)=x^2-4", "y=x^2-4"],
        ["x^2+4", "x^2-2", "(x-2)(x+2)", "x^2-4=0", "x2-4", "4-x^2", "x^{2-4}", "2x-4"],
    ),
    "(x-2)(x+2)": (
        ["(x+2)(x-2)", r"(x-2)\cdot(x+2)", "-(2-x)(x+2)"],
        ["x^2-4", "(x-2)^2", "(x-2)(x-2)", "(x-2),(x+2)"],
    ),
    "3x^2+2x-1": (
        ["3x^{2}+2x-1", "2x-1+3x^2"],
        ["3x^2+2x+1", "3x^2-2x-1", "3x+2x-1", "3x^22x-1"],
    ),
    r"\frac{x+1}{x-1}": (
        ["(x+1)/(x-1)", r"\dfrac{x+1}{x-1}", r"\frac{1+x}{x-1}", r"\frac{-x-1}{1-x}", r"-\frac{x+1}{1-x}"],
        ["x+1/x-1", r"\frac{x-1}{x+1}", r"\frac{x+1}{1-x}", "-1"],
    ),
    "y=2x+3": (
        ["y=3+2x", "2x+3", "y = 2 x + 3", "f(x)=2x+3"],
        ["y=2x-3", "x=2y+3", "y=3x+2", "2x+3=0", "y<2x+3"],
    ),
    "x^2+y^2=25": (
        ["y^2+x^2=25", "x^2+y^2-25=0", "25=x^2+y^2"],
        ["x^2+y^2=5", "x^2-y^2=25", "x^2+y^2=25z", "25", "x^2+y^2"],
    ),
    "7:30": (
        [],
        ["7:31", "7:30 PM x", "30:7", "7.5"],
    ),
    r"7:30\text{ p.m.}": (
        ["7:30 PM", r"7:30\text{ PM}", "7:30pm", r"7\!:\!30\text{ p.m.}", r"\text{7:30 p.m.}", "7:30 p.m."],
        ["7:30", "7:30 AM", "19:31"],
    ),
    "1011_2": (
        ["1011", "1011_{2}", "(1011)_2"],
        ["1010_2", "11", "1011_3", "1101_2"],
    ),
    r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}": (
        [r"\begin{bmatrix}1\\2\end{bmatrix}", r"\left(\begin{array}{c}1\\2\end{array}\right)",
         r"\begin{pmatrix}1\\ 2\\ \end{pmatrix}", r"\mathbf{v}=\begin{pmatrix}1\\2\end{pmatrix}",
         r"\begin{pmatrix}1.0\\2\end{pmatrix}", r"\begin{pmatrix}1\\[4pt]2\end{pmatrix}"],
        [r"\begin{pmatrix}2\\1\end{pmatrix}", r"\begin{pmatrix}1&2\end{pmatrix}",
         r"\begin{vmatrix}1\\2\end{vmatrix}", r"\begin{pmatrix}1\\2\\0\end{pmatrix}"],
    ),
    r"\text{Evelyn}": (
        ["Evelyn", r"\textbf{Evelyn}", r"\mathrm{Evelyn}", "evelyn", r"\text{Evelyn }"],
        ["Carla", r"\text{Evelyn and Carla}", r"\text{not Evelyn}", r"\text{Evelyn or Carla}"],
    ),
    r"\text{(B)}": (
        ["B", "(B)", r"\textbf{(B)}", r"\mathrm{(B)}", r"\textbf{(B)}\ ", r"\textbf{B}"],
        ["A", "b", "(C)", r"\textbf{(A)}", "BB"],
    ),
    r"\text{even}": (
        ["even", "Even", r"\textit{even}", r"\text{Even}"],
        ["odd", "neither"],
    ),
    r"1.5\times10^{-3}": (
        ["0.0015", "1.5e-3", r"1.5\cdot10^{-3}", r"\frac{3}{2000}", r"15\times10^{-4}",
         r"1.5 \times 10^{-3}\text{ m}"],
        [r"1.5\times10^{3}", "0.015", r"1.5\times10^{-4}", "0.00151"],
    ),
    r"3\sqrt{13}": (
        [r"\sqrt{117}", r"3\cdot\sqrt{13}", r"3 \sqrt {13}", r"\sqrt{13}\cdot3", r"3\sqrt{13}\text{ units}",
         "3√13", "3*sqrt(13)", r"3{\sqrt{13}}", "10.816654"],
        [r"\sqrt{13}", r"\sqrt[3]{13}", r"13\sqrt{3}", r"3+\sqrt{13}", "10.8167", r"3\sqrt{1}3",
         r"\sqrt{3\cdot13}"],
    ),
    r"\sqrt[3]{4}": (
        ["4^{1/3}", "2^{2/3}", r"\sqrt[3]4"],
        [r"\sqrt{4}", r"3\sqrt4", r"\sqrt[4]{3}"],
    ),
    "2,3,5": (
        ["5,3,2", r"2, 3, \text{ and } 5", r"\{2,3,5\}", "x=2,3,5", "2;3;5", r"2,3,\text{and}5",
         r"2\text{, }3\text{, and }5", r"2,\ 3,\ 5", "x=2, x=3, x=5", r"x=2\text{ or }x=3\text{ or }x=5",
         r"2\text{ or }3\text{ or }5", r"x \in \{2,3,5\}"],
        ["2,3", "235", "2,3,5,7", "2.3,5", "(2,3,5)", "2,3,-5", "2+3+5", "[2,3,5]", r"2,3\text{ or }6"],
    ),
    r"\frac{1}{2}, \frac{1}{3}": (
        ["0.5,1/3", r"\frac13,\frac12", r"x=\frac12,\frac13"],
        [r"\frac12", r"\frac12,\frac14", r"\frac{1}{2},3"],
    ),
    r"1\pm\sqrt2": (
        [r"1+\sqrt2,1-\sqrt2", r"1-\sqrt2\text{ and }1+\sqrt2", r"x=1\pm\sqrt{2}", r"\{1\pm\sqrt2\}"],
        [r"1+\sqrt2", r"1\mp\sqrt3", r"-1\pm\sqrt2", r"1\pm2"],
    ),
    "3:2": (
        ["3/2", r"\frac32"],
        ["2:3", "3:3", "3,2"],
    ),
    "5!": (
        ["120"],
        ["5", "24"],
    ),
    r"\binom{10}{3}": (
        ["120", r"\dbinom{10}{3}"],
        [r"\binom{3}{10}", r"\frac{10}{3}"],
    ),
    r"2k\pi": (
        [r"2k\pi, k\in\mathbb{Z}", r"2k\pi\ (k\in\mathbb{Z})", r"2k\pi \text{ where } k \text{ is an integer}",
         r"2k\pi, k \in Z", r"2\pi k,\quad k\in\mathbb{Z}", r"2k\pi \text{ for } k\in\mathbb{Z}",
         r"2\pi k"],
        [r"2\pi", r"k\pi", r"2k\pi, k\in\mathbb{N}", r"2n\pi, k\in\mathbb{Z}", r"k\pi, k\in\mathbb{Z}"],
    ),
    r"\frac{n(n+1)}{2}": (
        [r"\frac{n^2+n}{2}", r"\frac12n(n+1)", "n(n+1)/2"],
        [r"\frac{n(n-1)}{2}", "n(n+1)"],
    ),
    r"n \equiv 1 \pmod 3": (
        [r"n\equiv1(\bmod 3)", r"n \equiv 1 \ (\text{mod } 3)", r"n\equiv 4\pmod 3", r"n\equiv1 \mod 3"],
        [r"n\equiv2\pmod3", r"n\equiv1\pmod4", "n=3k+2"],
    ),
    "n=3k+1": (
        ["3k+1", "n=1+3k"],
        ["n=3k-1", "n=3k", "3k"],
    ),
    "f(x)=x": (
        [r"f(x)=x \text{ for all } x", r"f(x)=x\text{ for all real numbers }x",
         r"f(x) = x \text{ for all } x\in\mathbb{R}",
         r"f(x)=x, \forall x\in\mathbb{R}", "x", "y=x"],
        ["f(x)=-x", "f(x)=x+1", "f(x)=0", r"f(x)=x \text{ for all } y", r"f(x)=2x \text{ for all } x",
         r"f(x)=x\text{ for some }x", r"f(x)=x\text{ for all }x>0"],
    ),
    "f(x)=0,f(x)=x": (
        ["f(x)=x,f(x)=0", r"f(x)=0\text{ or }f(x)=x", r"f(x)=x \text{ and } f(x)=0", "0,x"],
        ["f(x)=x", "f(x)=0", "f(x)=0,f(x)=-x"],
    ),
    "(6,3),(9,3),(9,5)": (
        ["(9,5),(6,3),(9,3)", r"(6,3),(9,3)\text{ and }(9,5)", r"\{(6,3),(9,3),(9,5)\}",
         "(m,n)=(6,3),(9,3),(9,5)", "(m,n)=(6,3),(m,n)=(9,3),(m,n)=(9,5)", "(6,3);(9,3);(9,5)"],
        ["(6,3),(9,3)", "(3,6),(9,3),(9,5)", "(6,3),(9,3),(9,5),(1,1)", "(n,m)=(6,3),(9,3),(9,5)"],
    ),
    r"\left\lfloor\frac{n}{2}\right\rfloor": (
        [r"\lfloor n/2\rfloor", r"\lfloor\frac n2\rfloor"],
        [r"\lceil n/2\rceil", "n/2", r"\lfloor\frac{n-1}{2}\rfloor"],
    ),
    r"\left\lceil\frac{n+1}{2}\right\rceil": (
        [r"\lceil (n+1)/2\rceil"],
        [r"\lceil n/2\rceil", r"\lfloor\frac{n}{2}\rfloor"],
    ),
    "2^{1009}": (
        [],
        ["2^{1008}", "2^{1010}", "1009^2"],
    ),
    "2^{2k}+2^k+1": (
        ["4^k+2^k+1"],
        ["2^{2k}+2^{k+1}"],
    ),
    r"\arctan 10": (
        [r"\arctan{10}", r"\tan^{-1}(10)", r"\tan^{-1} 10", r"\operatorname{arctan}(10)"],
        [r"\tan 10", r"\frac{1}{\tan 10}", r"\arctan 11", r"\text{arctan}10x"],
    ),
    "4.5e33": (
        [r"4.5\times10^{33}", r"4.5 \cdot 10^{33}", r"4.5\times 10^{33}\text{ erg/s}"],
        ["4.5e32", r"4.5\times10^{-33}", "4.5"],
    ),
    r"I(0) e^{-\frac{t}{R C}}": (
        ["I(0) e^{-t/(RC)}"],
        ["I(0)e^{t/RC}"],
    ),
    "y=c_1e^{2x}+c_2e^{-x}": (
        ["c_1 e^{2x}+c_2 e^{-x}"],
        ["c_1e^{2x}"],
    ),
    r"\frac{1}{2n+2}": (
        [r"\frac{1}{2(n+1)}", r"\frac{1}{2}\cdot\frac{1}{n+1}", "1/(2n+2)"],
        [r"\frac{1}{2n+1}", "1/2n+2"],
    ),
    r"k\ge2": (
        [r"k \geq 2", r"[2,\infty)", r"2\le k", r"k\in[2,\infty)"],
        ["k>2", r"k\le2", "k=2"],
    ),
    r"\text{all odd positive integers}": (
        [],
        [r"\text{all even positive integers}"],
    ),
    r"\frac{\pi}{2}+2k\pi": (
        [r"2k\pi+\frac{\pi}{2}", r"x=\frac{\pi}{2}+2\pi k"],
        [r"\frac{\pi}{2}+k\pi", r"\frac{\pi}{2}"],
    ),
    r"x=\frac{\pi}{6},\frac{5\pi}{6}": (
        [r"\frac{\pi}{6},\frac{5\pi}{6}", r"x=\frac{\pi}{6}\text{ or }x=\frac{5\pi}{6}",
         r"\left\{\frac{\pi}{6},\frac{5\pi}{6}\right\}", r"x\in\{\frac{\pi}{6},\frac{5\pi}{6}\}",
         r"x=\pi/6, 5\pi/6"],
        [r"x=\frac{\pi}{6}", r"\frac{\pi}{6},\frac{7\pi}{6}"],
    ),
    r"-\ln 2": (
        [r"\ln\frac12", r"-\ln(2)", r"\ln 0.5", r"-\log_e 2", r"\ln(1/2)", "-ln 2", "-ln(2)"],
        [r"\ln2", r"\log\frac12", r"-\ln3"],
    ),
    r"\log_{10} 2": (
        [r"\log 2", r"\log_{10}(2)", r"\log_{10}{2}", r"\lg 2", r"\log_10 2"],
        [r"\ln 2", r"\log_2 10", r"\log_{2}10"],
    ),
    r"2\sin x\cos x": (
        [r"\sin 2x", r"\sin(2x)", r"2\cos x\sin x", r"2\sin{x}\cos{x}", r"2\sin(x)\cos(x)"],
        [r"\sin^2x", r"2\sin x", r"\sin x^2"],
    ),
    r"\sec^2 x": (
        [r"\sec^{2}x", r"\sec^2(x)", r"1+\tan^2x", r"(\sec x)^2"],
        [r"\sec x^2", r"\sec x"],
    ),
    r"\frac{x^3}{3}+C": (
        [r"\frac13x^3+C", r"C+\frac{x^3}{3}"],
        [r"\frac{x^3}{3}", r"\frac{x^3}{3}+c2", "x^3+C"],
    ),
    r"\vec{v}=2\hat{i}+3\hat{j}": (
        [r"2\hat{i}+3\hat{j}"],
        [r"2\hat{i}-3\hat{j}", "5"],
    ),
    r"\langle 1,2,3\rangle": (
        ["(1,2,3)", r"\langle1, 2, 3\rangle", r"\left\langle 1,2,3\right\rangle"],
        ["(1,3,2)", "1,2,3", r"\{1,2,3\}"],
    ),
    r"\overline{AB}": (
        [],
        [r"\overline{AC}"],
    ),
    r"\frac{3}{2}\text{ hours}": (
        ["1.5", r"\frac32", r"1.5\text{ hours}", r"1\frac12\text{ hours}", "1.5 hr"],
        [r"90\text{ minutes}", r"1.5\text{ minutes}", "90"],
    ),
    r"25\%": (
        ["25", "25%", r"25\text{ percent}", r"25.0\%"],
        ["0.25", r"\frac14", r"2.5\%"],
    ),
    r"33\frac{1}{3}\%": (
        [r"\frac{100}{3}\%", r"33\frac13", r"33\frac{1}{3}\text{ percent}", r"33.333333\%"],
        ["33", r"33\%", r"\frac13", r"33.3\%"],
    ),
    r"66\frac{2}{3}": (
        [r"66\frac23\%", r"\frac{200}{3}"],
        ["66.7", "66"],
    ),
    "a=1,b=2,c=3": (
        ["1,2,3", "(1,2,3)", "(a,b,c)=(1,2,3)", "c=3,b=2,a=1", r"a=1\text{ and }b=2\text{ and }c=3",
         "a=1; b=2; c=3"],
        ["3,2,1", "(3,2,1)", "a=1,b=2", "a=1,b=3,c=2", r"\{1,2,3\}"],
    ),
    r"\text{True}": (
        ["True", "true", r"\text{true}"],
        ["False", "false"],
    ),
    r"\text{DNE}": (
        ["DNE", r"\text{does not exist}", "The limit does not exist"],
        ["0", r"\infty", r"\emptyset"],
    ),
    r"\infty": (
        [r"+\infty", "infinity", r"\text{positive infinity}"],
        [r"-\infty", "0", r"\text{DNE}", r"\text{negative infinity}", r"\text{infinitely many}"],
    ),
    r"-\infty": (
        [r"\text{Negative infinity}"],
        ["infinity"],
    ),
    r"\binom{8}{3}": (
        [r"\binom83", "56", r"\binom{8}3"],
        [r"\binom38", r"\binom835", r"\binom{83}"],
    ),
    "y^2=4x": (
        ["4x=y^2", "y^2-4x=0", r"x=\frac{y^2}{4}", "y^2 = 4 x"],
        [r"y=2\sqrt{x}", "y^2=-4x", "x^2=4y"],
    ),
    "(x-1)^2+(y+2)^2=9": (
        ["(y+2)^2+(x-1)^2=9"],
        ["(x-1)^2+(y-2)^2=9", "(x-1)^2+(y+2)^2=3"],
    ),
    r"\frac{x^2}{9}+\frac{y^2}{4}=1": (
        ["4x^2+9y^2=36", r"\frac{y^2}{4}+\frac{x^2}{9}=1", r"\frac{x^2}{3^2}+\frac{y^2}{2^2}=1"],
        [r"\frac{x^2}{4}+\frac{y^2}{9}=1", r"\frac{x^2}{9}-\frac{y^2}{4}=1"],
    ),
    "-2<x<3": (
        ["(-2,3)", r"x\in(-2,3)", "3>x>-2", r"x>-2\text{ and }x<3", r"\{x\mid -2<x<3\}",
         r"\{x\in\mathbb{R}:-2<x<3\}", "-2 < x < 3", r"-2\lt x\lt 3"],
        [r"-2\le x<3", r"x<-2\text{ or }x>3", "[-2,3]", "-3<x<2", "-2<x", r"-2<x\le3", "x<3"],
    ),
    r"x\le-1\text{ or }x\ge3": (
        [r"(-\infty,-1]\cup[3,\infty)", r"x\in(-\infty,-1]\cup[3,\infty)", r"x\ge3\text{ or }x\le-1",
         r"x\leq-1,x\geq3", r"x \le -1 \cup x\ge3", r"\{x|x\le-1\text{ or }x\ge3\}",
         r"(-\infty,-1]\text{ or }[3,\infty)"],
        [r"-1\le x\le3", r"x<-1\text{ or }x>3", r"x\le-1", r"(-\infty,-1)\cup(3,\infty)"],
    ),
    r"f(x)=\begin{cases} x^2 & x\ge0 \\ -x & x<0\end{cases}": (
        [r"f(x)=\begin{cases} -x & \text{if } x<0 \\ x^2 & \text{if }x\ge0\end{cases}",
         r"\begin{cases} x^2, & x\ge 0, \\ -x, & x<0.\end{cases}",
         r"f(x)=\left\{\begin{array}{ll} x^2 & x\ge0 \\ -x & x<0\end{array}\right.",
         r"f(x)=\begin{cases} x^2 \text{ if } x\ge0 \\ -x\text{ if } x<0\end{cases}",
         r"\begin{cases} x^2 & \text{for } x\in[0,\infty) \\ -x & \text{for }x<0\end{cases}"],
        [r"f(x)=\begin{cases} x^2 & x>0 \\ -x & x\le0\end{cases}",
         r"f(x)=\begin{cases} x^2 & x<0 \\ -x & x\ge0\end{cases}", "x^2", "-x",
         r"f(x)=\begin{cases} x^2 & x\ge0\end{cases}",
         r"g(x)=\begin{cases} x^2 & x\ge0 \\ -x & x<0\end{cases}",
         r"f(x)=\begin{cases} x^2 & x\ge0 \\ x & x<0\end{cases}", "x^2,-x"],
    ),
    r"\begin{cases} 1 & \text{if } n=0 \\ 0 & \text{otherwise}\end{cases}": (
        [r"\begin{cases} 0 & \text{otherwise} \\1 & n=0\end{cases}",
         r"\begin{cases} 1, & \text{if } n=0, \\ 0, & \text{otherwise.}\end{cases}"],
        [r"\begin{cases} 0 & \text{if } n=0 \\ 1 & \text{otherwise}\end{cases}", "1", "0", "1,0"],
    ),
    r"x=\frac{\pi}{2}+2k\pi, k\in\mathbb{Z}": (
        [r"\frac{\pi}{2}+2k\pi", r"x=2k\pi+\frac{\pi}{2}", r"x=\frac{\pi}{2}+2\pi k, k\in\mathbb{Z}"],
        [r"\frac{\pi}{2}", r"x=\frac{\pi}{2}+k\pi,k\in\mathbb{Z}"],
    ),
    "x>2": (
        [],
        [r"x>2, x\in\mathbb{Z}", r"x>2 \text{ where }x\text{ is an integer}"],
    ),
    "5": (
        ["x=5"],
        [r"x=5,x\in\mathbb{Z}", r"k=5, k\in\mathbb{Z}"],
    ),
    r"n\equiv0,1\pmod3": (
        [r"n\equiv 0\pmod 3\text{ or }n\equiv1\pmod3", r"n\equiv 1, 0 \pmod{3}",
         r"n \equiv 0 \text{ or } 1 \pmod 3", r"n\equiv0,4\pmod{3}", r"n\equiv 0,1 (\text{mod }3)"],
        [r"n\equiv0\pmod3", r"n\equiv0,2\pmod3", r"n\equiv0,1\pmod4", r"n\equiv0,1,2\pmod3"],
    ),
    r"n\equiv\pm1\pmod6": (
        [r"n\equiv1,5\pmod6", r"n\equiv -1 \text{ or } 1 \pmod 6"],
        [r"n\equiv1\pmod6", r"n\equiv\pm2\pmod6"],
    ),
    r"f(x)=0\text{ for all }x": (
        ["f(x)=0", "0"],
        ["f(x)=1"],
    ),
    "-2,2": (
        [r"\pm2", r"x=\pm2", "2,-2"],
        [],
    ),
    r"\{-2,2\}": (
        [r"\pm2", r"x=\pm2"],
        [],
    ),
    "(-2,2)": (
        ["|x|<2", "-2<x<2", r"x\in(-2,2)"],
        [],
    ),
    r"(1,2)\cup(3,4)": (
        [r"1<x<2\text{ or }3<x<4", r"(3,4)\cup(1,2)"],
        [],
    ),
    r"\text{A, C}": (
        ["A, C", "C, A", r"\text{A and C}"],
        [],
    ),
    r"x \in(-\infty,-1] \cup[3,+\infty)": (
        [r"(-\infty,-1]\cup[3,\infty)", r"x\le-1\text{ or }x\ge3"],
        [r"(-\infty,-1)\cup(3,\infty)"],
    ),
    r"(-\infty;-1]\cup[3;+\infty)": (
        [r"(-\infty,-1]\cup[3,\infty)"],
        [],
    ),
    "(1 ; 2)": (
        ["(1,2)"],
        ["(2,1)"],
    ),
    "(x ; y)=(1 ; 2)": (
        ["(1,2)", "(x,y)=(1,2)", "x=1,y=2"],
        ["(2,1)", "(y,x)=(1,2)"],
    ),
    "(2;-1),(-3;4)": (
        ["(2,-1),(-3,4)", "(-3,4),(2,-1)", "(2,-1);(-3,4)"],
        ["(2,-1)", "(-1,2),(-3,4)"],
    ),
    "x_{1}=2, y_{1}=1 ; x_{2}=3,y_2=0": (
        ["(2,1),(3,0)", "(3,0),(2,1)"],
        ["(2,0),(3,1)", "(1,2),(0,3)"],
    ),
    r"\frac{\pi}{6}+\frac{\pi k}{3}, k \in \mathbb{Z}": (
        [r"\frac{\pi}{6}+\frac{k\pi}{3}", r"x=\frac{\pi}{6}+\frac{\pi k}{3}, k\in\mathbb{Z}",
         r"x=\frac{\pi}{6}+\frac{\pi k}{3}"],
        [r"\frac{\pi}{3}+\frac{\pi k}{3}"],
    ),
    r"x=(-1)^{k} \frac{\pi}{12}+\frac{\pi k}{2}, k \in \mathbb{Z}": (
        [r"(-1)^k\frac{\pi}{12}+\frac{k\pi}{2}, k\in\mathbb{Z}"],
        [r"\frac{\pi}{12}+\frac{\pi k}{2}"],
    ),
    r"10 \mathrm{~km} / \mathrm{h}": (
        ["10", r"10\text{ km/h}", r"10\ \mathrm{km/h}", r"10\text{ kilometers per hour}", r"10\text{ kph}"],
        [r"10\text{ km}", r"10\text{ m/s}"],
    ),
    r"\arcsin \frac{3}{5}": (
        [r"\arcsin(0.6)", r"\sin^{-1}\frac35", r"\arcsin{\frac{3}{5}}", r"\arccos\frac45"],
        [r"\arccos\frac{3}{5}", r"\sin\frac35"],
    ),
    r"\operatorname{arctg} 2": (
        [r"\arctan 2", r"\operatorname{arctan}2"],
        [r"\arctan 3", r"\operatorname{tg}2"],
    ),
    r"\operatorname{tg} \alpha": (
        [r"\tan\alpha"],
        [r"\cot\alpha"],
    ),
    r"\operatorname{ctg} \alpha": (
        [r"\cot\alpha"],
        [r"\tan\alpha"],
    ),
    r"3 \frac{1}{2}": (
        ["3.5", r"\frac72"],
        [r"\frac32"],
    ),
    r"16 \frac{2}{3} \%": (
        [r"\frac{50}{3}\%", r"16\frac23"],
        ["16"],
    ),
    "(0 ; 1]": (
        ["(0,1]", r"0<x\le1"],
        ["[0,1]"],
    ),
    r"[2,+\infty)": (
        [r"[2,\infty)", r"x\ge2"],
        [r"(2,\infty)"],
    ),
    r"a \in (-\infty ; 0)": (
        ["a<0", r"(-\infty,0)", r"a\in(-\infty,0)"],
        [r"a\le0", "x<0"],
    ),
    r"\{-1 ; 2\}": (
        ["-1,2", r"\{-1,2\}", "x=-1,2"],
        ["-1"],
    ),
    "-1 ; 3": (
        ["-1,3", r"-1\text{ and }3", "3,-1"],
        ["1,3"],
    ),
    r"x \in \emptyset": (
        [r"\emptyset", r"\text{no solution}"],
        ["0"],
    ),
    r"\overline{abc}=132": (
        ["132"],
        ["133"],
    ),
    "a=2, b=-3": (
        ["(2,-3)", "a=2,b=-3", "2,-3"],
        ["(-3,2)"],
    ),
    r"18 \sqrt{3} \mathrm{~cm}^{2}": (
        [r"18\sqrt3", r"18\sqrt{3}\text{ cm}^2"],
        [r"18\sqrt2", r"18\sqrt{3}\text{ cm}"],
    ),
    r"\frac{a \sqrt{6}}{3}": (
        [r"\frac{\sqrt6}{3}a", r"a\sqrt{\frac23}", r"\frac{\sqrt{6}a}{3}"],
        [r"\frac{\sqrt6}{3}"],
    ),
    r"120^{\circ}, 60^{\circ}": (
        [r"60^\circ,120^\circ", r"60^{\circ} \text{ and } 120^{\circ}"],
        ["60", r"60^\circ"],
    ),
    "n=1, n=2": (
        ["1,2", "n=1,2", r"n\in\{1,2\}", r"n=1\text{ or }n=2", r"n=1\text{ and }n=2"],
        ["n=1", "n=1,3"],
    ),
    r"p=2,q=3\text{ or }p=3,q=2": (
        ["(2,3),(3,2)", "(p,q)=(2,3),(3,2)", r"(p,q)\in\{(2,3),(3,2)\}"],
        ["(2,3)", "(2,2),(3,3)"],
    ),
    "(a,b)=(2,3)": (
        ["(2,3)", "a=2,b=3"],
        ["(3,2)", "(b,a)=(2,3)"],
    ),
    "P(x)=x^2+1": (
        ["x^2+1"],
        ["x^2-1", "Q(x)=x^2+1"],
    ),
    "f(n)=n+1": (
        ["n+1"],
        ["n-1", "f(n)=n"],
    ),
    "f(x)=cx": (
        ["cx"],
        ["x", "f(x)=c+x"],
    ),
    r"\frac{1}{3}\ln\left|\frac{x-1}{x+2}\right|+C": (
        [r"\frac13\ln\left|\frac{x-1}{x+2}\right|+C", r"\frac{1}{3}(\ln|x-1|-\ln|x+2|)+C"],
        [r"\ln\left|\frac{x-1}{x+2}\right|+C"],
    ),
    r"\frac{2019}{2020}": (
        ["2019/2020"],
        ["2020/2019", "0.9995"],
    ),
    "2^{100}-1": (
        ["1267650600228229401496703205375"],
        ["2^{100}", "2^{99}-1", "2^{100}+1"],
    ),
    r"\frac{(2n)!}{n!(n+1)!}": (
        [],
        [r"\binom{2n}{n}"],
    ),
    r"\sqrt{a^2+b^2}": (
        ["(a^2+b^2)^{1/2}"],
        ["a+b"],
    ),
    r"x>-\frac{1}{2}": (
        [r"(-\frac12,\infty)", "x>-0.5", r"-\frac12<x"],
        [r"x\ge-\frac12", r"x>\frac12"],
    ),
    r"-1<a<0 \text{ or } a>2": (
        [r"(-1,0)\cup(2,\infty)", r"a\in(-1,0)\cup(2,\infty)"],
        ["-1<a<0", "(-1,0)"],
    ),
    r"m \leq 1 \text{ and } m \neq 0": (
        [r"(-\infty,0)\cup(0,1]", r"m\le1,m\ne0"],
        [r"m\le1"],
    ),
    r"1\text{ and }-\frac12": (
        [r"1,-\frac12"],
        ["1"],
    ),
    r"\text{No}": (
        ["No", "no", r"\text{no}"],
        ["Yes"],
    ),
    r"y=\pm\frac{3}{4}x": (
        [r"y=\frac34x,y=-\frac34x", r"y=\frac{3}{4}x \text{ and } y=-\frac{3}{4}x", r"y=\pm\frac{3x}{4}",
         r"\pm\frac34x"],
        [r"y=\frac34x", r"y=\pm\frac43x", r"x=\pm\frac34y"],
    ),
    "x-2y+1=0": (
        ["2y=x+1", "x-2y=-1", r"y=\frac{x+1}{2}", r"y=\frac12x+\frac12", "-x+2y-1=0"],
        ["x+2y+1=0", "x-2y-1=0"],
    ),
    r"\left(\frac{3}{2},+\infty\right)": (
        [r"(1.5,\infty)", r"x>\frac32"],
        [r"[\frac32,\infty)"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("gold", CASES)
def test_what_it_is_met_by(gold: str) -> None:
    assert_met_by(gold, *CASES[gold])


#: Gold answer -> what comes near it, and is another answer.
NEAR: dict[str, list[str]] = {
    "-2,2": [
         "2", "-2", r"\pm4", "2,2", "|x|=2", "(-2,2)", "[-2,2]", "-2<x<2", r"x\ne\pm2", r"\mp3",
    ],
    r"\{-2,2\}": [
         r"|x|\le2", "(-2,2)",
    ],
    "(-2,2)": [
         r"\pm2", "-2,2", r"|x|\le2", "|x|=2", r"-2\le x\le 2",
    ],
    "3": [
         "3!", "3'", "3^2", "-3", "33", "3.3", "3x", "3i", r"3\%\%", r"\frac{3}{3}", r"\sqrt{3}", "0.3", "3,3",
         r"3\pm0", "{3", "3}", "3_4", r"3\text{ or }4", r"3\text{ or so}", r"\sim3", r"3\text{ approximately}",
         r"\neg3", r"\text{three or four}", r"3\text{ to }4", "3-4", "3/4", "3:3", r"3^{\circ}C x",
         r"3\text{ (maybe }4)", r"3\ldots4", "3..4", r"3\to3", r"\{3,\}", r"3\text{ hundred}",
         r"3\text{ percent of }5", r"\lim 3", "1<3", r"3\mid 6", "3|6", "3=3=3", r"x\ge3", r"x\in[3,3]x",
    ],
    "x+1": [
         "x-1", "x1", "x^1", "x+l", "x+1+1", "1-x", "x+1=0", "x+1>0", "(x+1)(x+1)", "x+1,x", "X+1", "x_1", "x+1!",
         "|x+1|", "x+1i", r"\frac{x+1}{1}x",
    ],
    "x=5": [
         "x=6", "x>5", r"x\ge5", "y=5", r"x\ne5", "x=5,6", "x=5x", "5x", "x=-5", r"x=\pm5", "5=6", r"x\approx5",
         r"x\equiv5", r"x\to5", "x<5", r"x=5\text{ or }x=6", "x=5y",
    ],
    r"x\ge5": [
         "x=5", "5", "x>5", r"x\le5", r"5\ge x", r"x\ge-5", r"y\ge5", r"\{5\}", r"x\ge5,x\ge6",
         r"x\ge5\text{ or }x\le5", "[5,6]", r"(5,\infty)", r"x\in\{5\}",
    ],
    r"(1,2)\cup(3,4)": [
         r"(1,2)\cap(3,4)", "(1,4)", "(1,2)", r"[1,2)\cup(3,4)", r"(1,2)\cup(3,5)", r"(1,2)\cup(3,4)\cup(5,6)",
         r"(2,1)\cup(4,3)", "1<x<2,3<y<4", r"1<x<2 \land 3<x<4", r"(1,4)\setminus\{2,3\}", r"(1,4)\setminus(2,3)",
         r"\{1,2\}\cup\{3,4\}",
    ],
    r"\{1,2,3\}": [
         r"\{1,2\}", r"\{1,2,3,4\}", r"\{1,2,2\}", r"\{1,3,3\}", "6", r"\{1,\ldots,3\}", "(1,2,3)", "[1,3]",
         r"\{\{1,2,3\}\}x", r"\{1\},\{2\},\{3\}", "1,2", r"x\notin\{1,2,3\}", r"\{-1,2,3\}",
    ],
    "(1,2)": [
         "(2,1)", "(1,2,0)", "[1,2]", "(-1,2)", "(1,-2)", "1.2", "(1.2)", "12", r"\{(1,2),(1,2)\}",
         r"(1,2)\text{ or }(2,1)", "(1,2),(2,1)", "((1,2),1)", "(1,2)+1", "-(1,2)", "2(1,2)", r"(x,y)\ne(1,2)",
         r"(x,y)\notin(1,2)", "x=1,y=3", "x=2,y=1", "y=1,x=2", r"x\in(1,3)", r"\binom{1}{2}", r"\frac{1}{2}",
         "(x,y)=(1,2),(2,1)",
    ],
    r"\begin{pmatrix}1&2\\3&4\end{pmatrix}": [
         r"\begin{pmatrix}1&2\\3&5\end{pmatrix}", r"\begin{pmatrix}1&3\\2&4\end{pmatrix}",
         r"-\begin{pmatrix}1&2\\3&4\end{pmatrix}", r"2\begin{pmatrix}1&2\\3&4\end{pmatrix}",
         r"\begin{pmatrix}1&2\\3&4\end{pmatrix}^T", r"\begin{pmatrix}1&2\\3&4\end{pmatrix}^{-1}",
         r"\begin{pmatrix}1&2&3&4\end{pmatrix}", r"\begin{vmatrix}1&2\\3&4\end{vmatrix}",
         r"\begin{pmatrix}3&4\\1&2\end{pmatrix}", r"\det\begin{pmatrix}1&2\\3&4\end{pmatrix}",
         r"\begin{cases}1&2\\3&4\end{cases}", "(1,2,3,4)", r"\begin{pmatrix}1&2\\3&4\end{pmatrix}x",
    ],
    "y=2x+1": [
         "y=2x-1", "y=-2x+1", "y>2x+1", "y=2x", "2x+1=0", "x=2y+1", "y=2x+1,y=2", "y=2z+1", "y=x+1", r"y\ne2x+1",
         "y^2=2x+1", "(y,x)=2x+1", "2x+y=1", "z=2x+1", "(x=2y+1)",
    ],
    r"45^\circ": [
         r"45^\circ C", r"-45^\circ", r"45^{\circ}30'", "45'", r"0.45^\circ", r"45\circ", "45^o x",
         r"\sin45^\circ", r"45^\circ,46^\circ", "45^2",
    ],
    r"\frac{1}{2}": [
         "2", r"\frac{2}{1}", r"-\frac12", "0.05", "1,2", "12", "1/2/2", "1.2", r"\frac{1}{2}\%", r"50\%",
         r"0.5\%", r"\frac{1}{2}x", r"\frac{1}{2!}x", r"1-\frac12\cdot2", r"\frac12\text{ or }\frac13", "1:3",
         r"\binom{1}{2}",
    ],
    "12:30": [
         "12.30", "1230", "30:12", "12:3", "0:30", "12:30:30", "2:5",
    ],
    "1011_2": [
         "1011_3", "1101_2", "11", "1011_{10}", "-1011_2", "10110_2", "1011.0_2",
    ],
    r"\text{Monday}": [
         "Sunday", r"\text{Monday or Tuesday}", r"\text{not Monday}", r"\text{Monday, Tuesday}", "M",
         r"\text{Mondays?}", r"\text{Monday}\text{Tuesday}",
    ],
    r"2\sqrt{3}": [
         r"\sqrt{6}", r"2+\sqrt3", r"\sqrt{3}", r"2\sqrt{3}i", r"\pm2\sqrt3", r"-2\sqrt3", r"2\sqrt[3]{3}",
         r"3\sqrt2", r"\sqrt{2\cdot3}", r"\sqrt{2}3", "3.46", "3.464", r"2^{\sqrt3}", r"\sqrt{2\sqrt{3}}",
    ],
    "3+4i": [
         "3-4i", "4+3i", "7i", "5", "-3+4i", "3+4", "3+4j", "|3+4i|", r"\overline{3+4i}", "3+4i^2", "(3,4)",
         "3,4i",
    ],
    "x^2+y^2=25": [
         "x^2+y^2=24", "x^2-y^2=25", "x^2+y^2<25", "x+y=5", "x^2+z^2=25", "(x+y)^2=25", "x^2+y^2+25=0",
         r"x^2+y^2\ne25", "(x^2+y^2-25)^2=0x",
    ],
    r"\$5.50": [
         r"5.5\text{ cents}", r"\$55", r"550\text{ cents}", r"\$5.05", r"-\$5.50", r"5.50\%", "€5.50",
         r"5.50\text{ euros}",
    ],
    r"\text{A, C}": [
         "A", "C", "A, B", "A, B, C", "AC", "ABC", r"\text{A or B}",
    ],
    r"5\text{ cm}": [
         r"5\text{ mm}", r"5\text{ cm}^3", r"-5\text{ cm}", r"5\text{ kg}", r"50\text{ mm}", r"0.05\text{ m}",
         r"5\text{ inches}", r"\frac{1}{5\text{ cm}}", r"5\text{ cm per s}", r"5\text{ cm or }6",
    ],
}  # fmt: skip


@pytest.mark.parametrize("gold", NEAR)
def test_what_comes_near_is_another_answer(gold: str) -> None:
    assert grade(gold, gold) == "correct"
    assert [answer for answer in NEAR[gold] if grade(answer, gold) == "correct"] == []
