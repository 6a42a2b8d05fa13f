// On a narrow screen a wide picture scrolls in a box of its own (setrbm.css); a tap shows the whole file.
document.addEventListener("DOMContentLoaded", () => {
  for (const image of document.querySelectorAll(".bd-article img")) {
    if (image.closest("a, .sphx-glr-thumbcontainer")) continue;
    const box = document.createElement("span");
    box.className = "picture";
    const link = document.createElement("a");
    link.href = image.src;
    image.replaceWith(box);
    link.append(image);
    box.append(link);
  }
});
